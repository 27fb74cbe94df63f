package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// config is the command line.
type config struct {
	suites   string
	only     string
	baseline bool
	fresh    bool
	envtest  bool
	race     bool
	keep     bool
	confirm  int
	timeout  time.Duration
	cache    string
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("conformance: ")
	var c config
	flag.StringVar(&c.suites, "suites", "client-go,controller-runtime,kubernetes", "families of suites to run, comma-separated")
	flag.StringVar(&c.only, "run-only", "", "run these suites of them only, comma-separated; all if empty")
	flag.BoolVar(&c.baseline, "baseline", false, "run on client-go's cache only")
	flag.BoolVar(&c.fresh, "fresh", false, "run on client-go's cache again though its results are kept")
	flag.BoolVar(&c.envtest, "envtest", false, "build kube-apiserver and etcd and run the suites that need them")
	flag.BoolVar(&c.race, "race", false, "run with the race detector")
	flag.BoolVar(&c.keep, "keep", false, "keep the scratch modules and print where they are")
	flag.IntVar(&c.confirm, "confirm", 3, "how often to run a lost test again, on both caches, before calling it lost; 0: not at all")
	flag.DurationVar(&c.timeout, "timeout", 10*time.Minute, "limit of one package's tests")
	flag.StringVar(&c.cache, "cache", defaultCache(), "folder for kept results, binaries, the copy of client-go and the tests' logs")
	flag.Parse()
	if flag.NArg() > 0 {
		log.Printf("unexpected argument %q", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	regressions, err := conform(ctx, c, os.Stdout)
	stop()
	switch {
	case err != nil:
		log.Print(err)
		os.Exit(2)
	case regressions > 0:
		log.Printf("%d tests are lost; logs are in %s", regressions, filepath.Join(c.cache, "logs"))
		os.Exit(1)
	}
}

func defaultCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "informerkit-conformance")
}

// conform runs what c says, prints the table to out, and returns how many tests are lost.
func conform(ctx context.Context, c config, out io.Writer) (int, error) {
	list, err := chosen(c.suites, c.only)
	if err != nil {
		return 0, err
	}
	here, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	root, err := findRoot(here)
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return 0, err
	}
	if c.keep {
		log.Printf("scratch modules are in %s", dir)
	} else {
		defer os.RemoveAll(dir)
	}
	w := &workshop{root: root, dir: dir}
	if w.clientGo, err = (goTool{dir: root}).version(ctx, clientGo); err != nil {
		return 0, err
	}
	if !c.baseline {
		if err := w.alias(ctx, c.cache); err != nil {
			return 0, err
		}
	}
	var env []string
	if c.envtest {
		if env, err = w.envtestBinaries(ctx, filepath.Join(c.cache, "bin")); err != nil {
			return 0, err
		}
		defer w.stopLeftovers()
	}
	var rows []row
	lost := 0
	for _, f := range list {
		for _, s := range f.suites {
			if s.envtest && !c.envtest {
				log.Printf("%s %s is left out: it needs -envtest", f.name, s.name)
				continue
			}
			r, err := w.compare(ctx, c, f, s, env)
			if err != nil {
				return 0, errors.Join(fmt.Errorf("%s %s: %w", f.name, s.name, err), printTable(out, rows))
			}
			rows = append(rows, r)
			lost += len(r.regressions)
		}
	}
	return lost, printTable(out, rows)
}

// fewTests is how many lost tests of a suite are run again one by one.
const fewTests = 20

// alias makes the copy of client-go on our cache.
func (w *workshop) alias(ctx context.Context, cache string) error {
	source, err := (goTool{dir: w.root}).download(ctx, clientGo+"@"+w.clientGo)
	if err != nil {
		return err
	}
	w.aliased = filepath.Join(cache, "client-go@"+w.clientGo)
	names, err := aliasClientGo(ctx, w.root, source, w.aliased)
	if err != nil {
		return err
	}
	if len(names) > 0 {
		log.Printf("our cache lacks %d names of client-go's: %s", len(names), strings.Join(names, ", "))
	}
	return nil
}

// compare runs one suite on both caches.
func (w *workshop) compare(ctx context.Context, c config, f family, s suite, env []string) (row, error) {
	out := row{family: f.name, suite: s.name, baselineOnly: c.baseline}
	theirs, err := w.runner(ctx, c, f, env, false)
	if err != nil {
		return out, err
	}
	if out.theirs, err = w.kept(ctx, c, theirs, f, s); err != nil {
		return out, err
	}
	if c.baseline {
		return out, nil
	}
	ours, err := w.runner(ctx, c, f, env, true)
	if err != nil {
		return out, err
	}
	log.Printf("%s %s on ours", f.name, s.name)
	err = logTo(c, f, s, "ours", func(logs io.Writer) error {
		out.ours, err = ours.run(ctx, s, logs)
		return err
	})
	if err != nil {
		return out, err
	}
	candidates := lost(out.theirs, out.ours)
	if c.confirm == 0 || len(candidates) == 0 {
		out.regressions = candidates
		return out, nil
	}
	_, ginkgo, err := theirs.packages(ctx, s)
	if err != nil {
		return out, err
	}
	err = logTo(c, f, s, "again", func(logs io.Writer) error {
		if len(candidates) > fewTests {
			// A package that died took its other tests along. Once more as a whole is cheaper than one by one.
			if out.ours, err = ours.run(ctx, s, logs); err != nil {
				return err
			}
			still := lost(out.theirs, out.ours)
			out.flaky = slices.DeleteFunc(candidates, func(t test) bool { return slices.Contains(still, t) })
			candidates = still
		}
		if len(candidates) > fewTests {
			out.regressions = candidates
			return nil
		}
		for _, t := range candidates {
			really, err := confirm(ctx, c, theirs, ours, t, ginkgo, logs)
			if err != nil {
				return err
			}
			if really {
				out.regressions = append(out.regressions, t)
			} else {
				out.flaky = append(out.flaky, t)
			}
		}
		return nil
	})
	return out, err
}

func (w *workshop) runner(ctx context.Context, c config, f family, env []string, ours bool) (runner, error) {
	tool, err := w.module(ctx, f, ours)
	tool.env = append(tool.env, env...)
	return runner{tool: tool, timeout: c.timeout, race: c.race}, err
}

// kept returns the results on client-go's cache: those of an earlier run of the same versions, or new ones.
func (w *workshop) kept(ctx context.Context, c config, r runner, f family, s suite) (results, error) {
	file, err := w.resultFile(ctx, c, r, f, s)
	if err != nil {
		return nil, err
	}
	if content, err := os.ReadFile(file); err == nil && !c.fresh {
		var list []record
		if err := json.Unmarshal(content, &list); err != nil {
			return nil, fmt.Errorf("kept results %s: %w", file, err)
		}
		return fromRecords(list), nil
	}
	log.Printf("%s %s on client-go's", f.name, s.name)
	var got results
	err = logTo(c, f, s, "theirs", func(logs io.Writer) error {
		got, err = r.run(ctx, s, logs)
		return err
	})
	if err != nil {
		return nil, err
	}
	content, err := json.MarshalIndent(toRecords(got), "", "\t")
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return nil, err
	}
	return got, os.WriteFile(file, content, 0o644)
}

// logTo runs do with a log file of its own.
func logTo(c config, f family, s suite, what string, do func(io.Writer) error) error {
	dir := filepath.Join(c.cache, "logs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(dir, fileName(f.name, s.name, what)+".log"))
	if err != nil {
		return err
	}
	return errors.Join(do(file), file.Close())
}
