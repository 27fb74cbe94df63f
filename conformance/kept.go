package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// record is a test's outcome as it is kept in a file.
type record struct {
	Package string
	Name    string `json:",omitempty"`
	Outcome outcome
}

func toRecords(r results) []record {
	var out []record
	for t, o := range r {
		out = append(out, record{t.Package, t.Name, o})
	}
	slices.SortFunc(out, func(a, b record) int { return compareTests(test{a.Package, a.Name}, test{b.Package, b.Name}) })
	return out
}

func fromRecords(list []record) results {
	r := results{}
	for _, rec := range list {
		r[test{rec.Package, rec.Name}] = rec.Outcome
	}
	return r
}

// resultFile names the file for results of a suite on client-go's cache, after all that they depend on.
func (w *workshop) resultFile(ctx context.Context, c config, r runner, f family, s suite) (string, error) {
	version, err := r.tool.output(ctx, "env", "GOVERSION", "GOOS", "GOARCH")
	if err != nil {
		return "", err
	}
	key, err := json.Marshal([]any{string(version), w.clientGo, f.requires, s.packages, s.builds, c.envtest, c.race})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(key)
	return filepath.Join(c.cache, "results", fileName(f.name, s.name, hex.EncodeToString(sum[:8]))+".json"), nil
}

func fileName(parts ...string) string {
	return strings.NewReplacer("/", "-", " ", "-").Replace(strings.Join(parts, "-"))
}

// confirm runs a lost test again, first on ours: it is really lost if ours can't pass it each time and client-go's can.
func confirm(ctx context.Context, c config, theirs, ours runner, t test, ginkgo []string, logs io.Writer) (bool, error) {
	specs := slices.Contains(ginkgo, t.Package) && strings.Contains(t.Name, "/")
	good, err := ours.rerun(ctx, t, specs, c.confirm, logs)
	if err != nil || good {
		return false, err
	}
	return theirs.rerun(ctx, t, specs, c.confirm, logs)
}
