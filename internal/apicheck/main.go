package main

import (
	_ "embed"
	"flag"
	"fmt"
	"io"
	"os"
)

const (
	theirs = "k8s.io/client-go/tools/cache"
	ours   = "github.com/informerkit/informerkit/cache"
)

//go:embed differences.txt
var differencesFile string

func main() {
	want := flag.String("want", theirs, "import path of the package to compare with")
	got := flag.String("got", ours, "import path of the package that has to offer the same")
	flag.Parse()
	ok, err := run(os.Stdout, *want, *got, differencesFile)
	if err != nil {
		fmt.Fprintln(os.Stderr, "apicheck:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// run reports to out and returns whether got offers all of want, but for the intended differences.
func run(out io.Writer, want, got, differences string) (ok bool, err error) {
	intended, err := parseIntended(differences)
	if err != nil {
		return false, err
	}
	packages, err := load(want, got)
	if err != nil {
		return false, err
	}
	wanted := factsOf(packages[0])
	r := compare(wanted, factsOf(packages[1]), intended)
	r.print(out)
	fmt.Fprintf(out, "%d facts of %s: %d missing, %d different, %d differ by intention, %d stale intentions; %d facts added\n",
		len(wanted), want, len(r.missing), len(r.different), len(r.intended), len(r.stale), len(r.added))
	return r.ok(), nil
}
