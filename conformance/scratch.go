package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// clientGo is the module whose tools/cache is at stake.
const clientGo = "k8s.io/client-go"

// aliasClientGo makes dir a copy of client-go with tools/cache made of aliases of our cache package. It returns the names that ours
// lacks. A copy that is there already is brought up to date: at a lasting path, the go command builds anew only what depends
// on our cache.
func aliasClientGo(ctx context.Context, root, source, dir string) ([]string, error) {
	tool := goTool{dir: root}
	exports, err := tool.exports(ctx, ourModule+"/cache")
	if err != nil {
		return nil, fmt.Errorf("compile our cache: %w", err)
	}
	ours, err := importExport(ourModule+"/cache", exports)
	if err != nil {
		return nil, fmt.Errorf("read our cache's types: %w", err)
	}
	exports, err = tool.exports(ctx, clientGo+"/tools/cache")
	if err != nil {
		return nil, fmt.Errorf("compile client-go's cache: %w", err)
	}
	theirs, err := importExport(clientGo+"/tools/cache", exports)
	if err != nil {
		return nil, fmt.Errorf("read client-go's cache's types: %w", err)
	}
	src, err := aliases(ours, "cache")
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); err != nil {
		if err := copyClientGo(source, dir); err != nil {
			return nil, fmt.Errorf("copy client-go: %w", err)
		}
	}
	return missing(theirs, ours), os.WriteFile(filepath.Join(dir, "tools", "cache", "aliases.go"), src, 0o644)
}

// copyClientGo copies all but the files of tools/cache. What looks complete is.
func copyClientGo(source, dir string) error {
	aside := dir + ".new"
	if err := os.RemoveAll(aside); err != nil {
		return err
	}
	if err := copyModule(source, aside); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(aside, "tools", "cache", "*.go"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return os.Rename(aside, dir)
}

// replacement is a replace directive of a go.mod file.
type replacement struct{ old, new string }

// goMod writes a scratch module's go.mod.
func goMod(requires []string, replaces []replacement) []byte {
	var out bytes.Buffer
	out.WriteString("module scratch\n\ngo 1.26.0\n\n")
	for _, r := range requires {
		path, version, _ := strings.Cut(r, "@")
		fmt.Fprintf(&out, "require %s %s\n", path, version)
	}
	out.WriteString("\n")
	for _, r := range replaces {
		fmt.Fprintf(&out, "replace %s => %s\n", r.old, r.new)
	}
	return out.Bytes()
}

// staged gives the replacements that turn module's (as path@version) ./staging folders into the released modules of the same day:
// v1.37.2 of Kubernetes goes with v0.37.2 of what it stages. Client-go is not among them.
func staged(modfile []byte, version string) ([]replacement, error) {
	var mod struct {
		Replace []struct {
			Old, New struct{ Path string }
		}
	}
	if err := json.Unmarshal(modfile, &mod); err != nil {
		return nil, err
	}
	released, ok := strings.CutPrefix(version, "v1.")
	if !ok {
		return nil, fmt.Errorf("version %s is none of Kubernetes'", version)
	}
	var out []replacement
	for _, r := range mod.Replace {
		if strings.HasPrefix(r.New.Path, "./staging/") && r.Old.Path != clientGo {
			out = append(out, replacement{r.Old.Path, r.Old.Path + " v0." + released})
		}
	}
	return out, nil
}

// workshop is where scratch modules are made.
type workshop struct {
	root     string // our root module
	dir      string // temporary
	clientGo string // version of client-go
	aliased  string // the copy of client-go on our cache
}

// module makes (once) the scratch module of a family, on client-go's cache or on ours. Both differ in one replace directive only, so
// that all else is built of the same versions.
func (w *workshop) module(ctx context.Context, f family, ours bool) (goTool, error) {
	name := "theirs"
	if ours {
		name = "ours"
	}
	dir := filepath.Join(w.dir, f.name, name)
	tool := goTool{dir: dir, env: []string{"GOFLAGS=-mod=mod"}}
	if _, err := os.Stat(dir); err == nil {
		return tool, nil
	}
	fetch := goTool{dir: w.root}
	sums := []string{filepath.Join(w.root, "go.sum")}
	for _, module := range append([]string{clientGo + "@" + w.clientGo}, f.requires...) {
		source, err := fetch.download(ctx, module)
		if err != nil {
			return tool, err
		}
		sums = append(sums, filepath.Join(source, "go.sum"))
	}
	requires := append([]string{clientGo + "@" + w.clientGo, ourModule + "@v0.0.0"}, f.requires...)
	replaces := []replacement{{ourModule, w.root}}
	if f.staging != "" {
		source, err := fetch.download(ctx, f.staging)
		if err != nil {
			return tool, err
		}
		modfile, err := fetch.output(ctx, "mod", "edit", "-json", filepath.Join(source, "go.mod"))
		if err != nil {
			return tool, err
		}
		_, version, _ := strings.Cut(f.staging, "@")
		released, err := staged(modfile, version)
		if err != nil {
			return tool, fmt.Errorf("staging modules of %s: %w", f.staging, err)
		}
		replaces = append(replaces, released...)
	}
	if ours {
		replaces = append(replaces, replacement{clientGo, w.aliased})
	} else {
		replaces = append(replaces, replacement{clientGo, clientGo + " " + w.clientGo})
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return tool, err
	}
	sum, err := joinSums(sums)
	if err != nil {
		return tool, err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o644); err != nil {
		return tool, err
	}
	return tool, os.WriteFile(filepath.Join(dir, "go.mod"), goMod(requires, replaces), 0o644)
}

// joinSums merges go.sum files; a module without one adds nothing.
func joinSums(files []string) ([]byte, error) {
	var lines []string
	for _, file := range files {
		content, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		lines = slices.AppendSeq(lines, strings.Lines(string(content)))
	}
	slices.Sort(lines)
	return []byte(strings.Join(slices.Compact(lines), "")), nil
}
