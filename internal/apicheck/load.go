package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
)

// load has the go command build packages and reads their types. All of them see the same types of what they import.
func load(paths ...string) ([]*types.Package, error) {
	exports, err := exportFiles(paths)
	if err != nil {
		return nil, err
	}
	imports := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		file, ok := exports[path]
		if !ok {
			return nil, fmt.Errorf("no export data for %q", path)
		}
		return os.Open(file)
	})
	packages := make([]*types.Package, len(paths))
	for i, path := range paths {
		if packages[i], err = imports.Import(path); err != nil {
			return nil, fmt.Errorf("reading the types of %q: %w", path, err)
		}
	}
	return packages, nil
}

// exportFiles finds where the compiler left the types of packages, and of all they import.
func exportFiles(paths []string) (map[string]string, error) {
	args := append([]string{"list", "-export", "-deps", "-json=ImportPath,Export", "--"}, paths...)
	cmd := exec.Command("go", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %q: %w\n%s", paths, err, stderr.String())
	}
	exports := map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var listed struct{ ImportPath, Export string }
		if err := decoder.Decode(&listed); errors.Is(err, io.EOF) {
			return exports, nil
		} else if err != nil {
			return nil, fmt.Errorf("output of go list: %w", err)
		}
		if listed.Export != "" {
			exports[listed.ImportPath] = listed.Export
		}
	}
}
