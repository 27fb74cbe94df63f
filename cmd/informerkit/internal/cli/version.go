package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersion(streams Streams) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the versions of informerkit, Go and client-go",
		Example: `  informerkit version`,
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			info, _ := debug.ReadBuildInfo()
			return writeVersion(streams.Out, info)
		},
	}
}

// writeVersion writes what is known from a build; info may be nil.
func writeVersion(w io.Writer, info *debug.BuildInfo) error {
	version, revision, modified, client := "(unknown)", "", "", "(unknown)"
	if info != nil {
		version = firstOf(info.Main.Version, version)
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				revision = "  " + s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				modified = " (modified)"
			}
		}
		for _, d := range info.Deps {
			if d.Path == "k8s.io/client-go" {
				client = d.Version
			}
		}
	}
	_, err := fmt.Fprintf(w, "informerkit  %s%s%s\ngo           %s %s/%s\nclient-go    %s\n",
		version, revision, modified, runtime.Version(), runtime.GOOS, runtime.GOARCH, client)
	return err
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments, got %q", cmd.Name(), args)
	}
	return nil
}
