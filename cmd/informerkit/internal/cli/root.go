package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
)

// Streams is what a command writes to and reads its environment from.
type Streams struct {
	Out, Err io.Writer
	Getenv   func(string) string
}

// say writes one line to Err.
func (s Streams) say(line string) { fmt.Fprintln(s.Err, oneLine(line)) }

// Run runs the command line args (without the program's name) until it is done or ctx ends, and returns the exit code. Errors are
// one line on streams.Err.
func Run(ctx context.Context, streams Streams, args []string) int {
	streams.Err = &lockedWriter{w: streams.Err}
	root := newRoot(streams)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return ExitOK
	}
	line := describe(err)
	if usage := (*usageError)(nil); errors.As(err, &usage) {
		line = fmt.Sprintf("%s (see %s --help)", oneLine(err.Error()), cmd.CommandPath())
	}
	streams.say("informerkit: " + line)
	return exitCode(err)
}

func newRoot(streams Streams) *cobra.Command {
	verbosity := 0
	root := &cobra.Command{
		Use:   "informerkit",
		Short: "Watch Kubernetes resources, and see informers at work",
		Long: `informerkit follows Kubernetes resources with the informers of github.com/informerkit/informerkit: live local copies of a cluster's
objects that recover from whatever happens to the connection.

Exit codes:
  0   done, or ended as asked: by --for, --once or Ctrl-C
  1   failed: no such cluster, resource or permission; not synced in time; a copy that differs from the server
  2   the command line is wrong`,
		Example: `  informerkit demo --for 10s
  informerkit watch pods -A -o diff`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			hint := ""
			if s := cmd.SuggestionsFor(args[0]); len(s) > 0 {
				hint = ", did you mean " + strings.Join(s, " or ") + "?"
			}
			return usagef("unknown command %q%s", args[0], hint)
		},
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(*cobra.Command, []string) error { return setUpLogging(streams.Err, verbosity) },
	}
	root.SuggestionsMinimumDistance = 2
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	root.PersistentFlags().IntVarP(&verbosity, "v", "v", 0, "log what the client libraries do to stderr, from `level` 1 to 10; 0: nothing")
	root.AddCommand(newDemo(streams), newWatch(streams), newVersion(streams))
	return root
}

// setUpLogging sends the client libraries' log to w; at verbosity 0 there is none: what matters the commands say themselves.
func setUpLogging(w io.Writer, verbosity int) error {
	if verbosity <= 0 {
		klog.SetLogger(logr.Discard())
		return nil
	}
	klog.ClearLogger()
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{"v": fmt.Sprint(verbosity), "logtostderr": "false", "stderrthreshold": "FATAL"} {
		if err := flags.Set(name, value); err != nil {
			return fmt.Errorf("logging: %w", err)
		}
	}
	klog.SetOutput(w)
	return nil
}

// lockedWriter keeps lines of several goroutines apart.
type lockedWriter struct {
	mu sync.Mutex // guards w
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func must(err error) {
	if err != nil {
		panic("BUG: " + err.Error())
	}
}
