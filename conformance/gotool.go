package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const ourModule = "github.com/informerkit/informerkit"

// goTool runs the go command outside of any workspace, as one module sees it.
type goTool struct {
	dir string
	env []string // added to the process's
}

func (g goTool) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = g.dir
	cmd.Env = append(append(os.Environ(), "GOWORK=off"), g.env...)
	return cmd
}

// output returns what the command printed; the error has what it complained about.
func (g goTool) output(ctx context.Context, args ...string) ([]byte, error) {
	var out, complaint bytes.Buffer
	cmd := g.command(ctx, args...)
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, complaint.Bytes())
	}
	return out.Bytes(), nil
}

// download makes sure that a module, as path@version, is in the module cache and returns its folder.
func (g goTool) download(ctx context.Context, module string) (string, error) {
	out, err := g.output(ctx, "mod", "download", "-json", module)
	if err != nil {
		return "", err
	}
	var info struct{ Dir string }
	if err := json.Unmarshal(out, &info); err != nil {
		return "", fmt.Errorf("download %s: %w", module, err)
	}
	return info.Dir, nil
}

// version returns the version of a module that g's module is built with.
func (g goTool) version(ctx context.Context, module string) (string, error) {
	out, err := g.output(ctx, "list", "-m", "-f", "{{.Version}}", module)
	return strings.TrimSpace(string(out)), err
}

// exports compiles a package and all it imports, and returns where their export data is, by import path.
func (g goTool) exports(ctx context.Context, pkg string) (map[string]string, error) {
	out, err := g.output(ctx, "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", pkg)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[path] = file
	}
	return files, nil
}

// findRoot walks up from dir to the folder of our root module.
func findRoot(dir string) (string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		mod, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		if first, _, _ := strings.Cut(string(mod), "\n"); first == "module "+ourModule {
			return at, nil
		}
		if filepath.Dir(at) == at {
			return "", fmt.Errorf("%s is not inside a clone of %s", dir, ourModule)
		}
	}
}

// copyModule copies a module out of the module cache, where nothing can be written, to a place where all can.
func copyModule(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		return copyFile(path, target)
	})
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
