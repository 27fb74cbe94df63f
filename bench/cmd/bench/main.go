// Command bench measures this module beside client-go and other stores, and writes the results as Markdown. See package bench.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/informerkit/informerkit/bench"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	c := bench.Config{Log: os.Stdout}
	flag.IntVar(&c.Objects, "objects", 100_000, "pods, a multiple of 1,000")
	flag.IntVar(&c.Count, "count", 10, "rounds, in each of which every contender has a turn")
	flag.DurationVar(&c.Time, "time", 200*time.Millisecond, "length of a turn, about")
	flag.BoolVar(&c.Short, "short", false, "do everything once, with 2,000 pods: checks the harness, measures nothing")
	match := flag.String("run", "", "regular expression that names have to match, for example Get/readers=1/by=(typed|client-go)")
	file := flag.String("out", "bench/RESULTS.md", "file for the results; \"\", -short or -run: they are printed")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected arguments: %q", flag.Args())
	}
	if *match != "" {
		var err error
		if c.Match, err = regexp.Compile(*match); err != nil {
			return fmt.Errorf("-run: %w", err)
		}
	}
	if c.Short {
		c.Objects, c.Count, c.Time = 2000, 1, time.Millisecond
	}
	// What contenders have to say about watches that end is known.
	klog.SetLogger(logr.Discard())
	log.SetLogger(logr.Discard())

	results, err := bench.Run(c)
	if err != nil {
		return err
	}
	if c.Short || c.Match != nil || *file == "" {
		return results.WriteReport(os.Stdout, bench.ThisMachine())
	}
	out, err := os.Create(*file)
	if err != nil {
		return err
	}
	return errors.Join(results.WriteReport(out, bench.ThisMachine()), out.Close())
}
