package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/informerkit/informerkit/cmd/informerkit/internal/screen"
	"github.com/informerkit/informerkit/listwatch"
)

// watchOptions are the flags of watch.
type watchOptions struct {
	Streams
	config        *genericclioptions.ConfigFlags
	allNamespaces bool
	labels        string
	fields        string
	output        string
	noHeaders     bool
	managedFields bool
	metadataOnly  bool
	once          bool
	duration      time.Duration
	embedded      bool
	world         worldOptions
}

func newWatch(streams Streams) *cobra.Command {
	o := &watchOptions{Streams: streams, config: genericclioptions.NewConfigFlags(true).WithDiscoveryBurst(300)}
	cmd := &cobra.Command{
		Use:   "watch RESOURCE[.GROUP][/NAME]",
		Short: "Follow a resource of a cluster: one line per change",
		Long: `Follow any resource, built-in or custom, and print one line per change: when, what happened, to which object, its
resource version and age. First come the objects there are, as ADDED.

The cluster is the one kubectl would talk to, by kubeconfig, KUBECONFIG and flags; or, with --embedded, an in-memory API server
where something is always going on. What can't be done at all (no such resource, forbidden, nobody there) ends the command
with one line on stderr and exit code 1. Once the first list was shown the command keeps trying, and says when it is out of step.

A deletion that was not seen itself, because the watch was interrupted, is marked "(last known)": the state shown is
the last one seen.

Output:
  (default)   time, event, namespace/name, resource version, age
  wide        and status, node and labels
  diff        and, below each update, what it changed: path: old -> new
  json        one JSON object per line: time, type, key, initial, lastKnown, object`,
		Example: `  # Pods of the current namespace
  informerkit watch pods

  # What changes in deployments, everywhere
  informerkit watch deploy -A -o diff

  # A custom resource by kind and group; one object
  informerkit watch Certificate.cert-manager.io -n web
  informerkit watch certificates.cert-manager.io/frontend -n web

  # Pods of one node and application, for a program to read
  informerkit watch po -A -l app=web --field-selector spec.nodeName=node-1 -o json

  # What there is now, and end
  informerkit watch nodes --once -o wide

  # Without any cluster
  informerkit watch pods -A --embedded -o diff --for 10s`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("watch takes one RESOURCE, as in: informerkit watch pods")
			}
			return nil
		},
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
		ValidArgsFunction: o.completeResource,
	}
	f := cmd.Flags()
	f.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "follow all namespaces")
	f.StringVarP(&o.labels, "selector", "l", "", "label `selector`: only objects that match, such as app=web,tier!=cache")
	f.StringVar(&o.fields, "field-selector", "", "field `selector`, such as spec.nodeName=node-1")
	f.StringVarP(&o.output, "output", "o", "", "output `format`: "+strings.Join(outputs, ", "))
	f.BoolVar(&o.noHeaders, "no-headers", false, "print no header line")
	f.BoolVar(&o.managedFields, "show-managed-fields", false, "do not leave metadata.managedFields out of json and diff")
	f.BoolVar(&o.metadataOnly, "metadata-only", false, "ask the server for metadata only: cheaper, but no spec and status")
	f.BoolVar(&o.once, "once", false, "print what there is, by name, and end")
	f.DurationVar(&o.duration, "for", 0, "end after this `time`, such as 30s; 0: when interrupted")
	f.BoolVar(&o.embedded, "embedded", false, "follow an in-memory API server with a workload instead of a cluster")
	o.world.addFlags(f, "with --embedded: ")
	f.BoolVar(&o.world.faults, "faults", false, "with --embedded: let things go wrong at the server now and then")
	o.config.AddFlags(f)
	must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(outputs, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

func (o *watchOptions) run(ctx context.Context, arg string) error {
	byLabel, byField, err := o.selectors()
	if err != nil {
		return err
	}
	format, err := newFormatter(o.output, o.managedFields)
	if err != nil {
		return err
	}
	if o.duration < 0 {
		return usagef("--for %v: must not be negative", o.duration)
	}
	ctx, cancel := endAfter(ctx, o.duration)
	defer cancel()
	c, closeCluster, err := o.cluster(ctx)
	if err != nil {
		return err
	}
	defer closeCluster()
	t, err := resolve(c.mapper, arg)
	if err != nil {
		return c.explain(err)
	}
	namespace := c.namespace
	if o.allNamespaces {
		namespace = ""
	}
	if t.name != "" {
		if t.namespaced() && namespace == "" {
			return usagef("%s: an object's name means nothing in all namespaces; name one with -n", arg)
		}
		byField = fields.AndSelectors(fields.OneTermEqualSelector("metadata.name", t.name), byField)
	}

	p := printer{display: screen.NewDisplay(o.Out, screen.Terminal{Color: screen.Detect(o.Out, o.Getenv).Color}), format: format, header: !o.noHeaders}
	if o.metadataOnly {
		source, err := metadataOnly(c, t, namespace)
		if err != nil {
			return err
		}
		return follower[*metav1.PartialObjectMetadata]{
			name: t.String(), source: listwatch.Narrow(source, byLabel, byField), content: metadataContent(t.GroupVersionKind), show: p.show, say: o.say,
		}.run(ctx, o.once)
	}
	source, err := wholeObjects(c, t, namespace)
	if err != nil {
		return err
	}
	return follower[*unstructured.Unstructured]{
		name: t.String(), source: listwatch.Narrow(source, byLabel, byField), show: p.show, say: o.say,
		content: func(u *unstructured.Unstructured) *unstructured.Unstructured { return u },
	}.run(ctx, o.once)
}

func (o *watchOptions) selectors() (labels.Selector, fields.Selector, error) {
	byLabel, err := labels.Parse(o.labels)
	if err != nil {
		return nil, nil, usagef("--selector %q: %w", o.labels, err)
	}
	byField, err := fields.ParseSelector(o.fields)
	if err != nil {
		return nil, nil, usagef("--field-selector %q: %w", o.fields, err)
	}
	return byLabel, byField, nil
}

// cluster is the one to follow, and what closes it.
func (o *watchOptions) cluster(ctx context.Context) (*cluster, func(), error) {
	if !o.embedded {
		c, err := configured(o.config, o.Err)
		return c, func() {}, err
	}
	if err := o.world.check(); err != nil {
		return nil, nil, err
	}
	w, err := newWorld(o.world, func(string, uint64) {}, func(f fault) { o.say("fault: " + f.text) })
	if err != nil {
		return nil, nil, err
	}
	if err := w.server.Start(); err != nil {
		w.server.Close()
		return nil, nil, err
	}
	c, err := at(w.server.Config())
	if err != nil {
		w.server.Close()
		return nil, nil, err
	}
	if *o.config.Namespace != "" {
		c.namespace = *o.config.Namespace
	}
	w.start(ctx)
	return c, func() {
		if err := w.rest(); err != nil {
			o.say(err.Error())
		}
		w.server.Close()
	}, nil
}

// completeResource completes the names of resources that can be followed.
func (o *watchOptions) completeResource(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	c, err := configured(o.config, o.Err)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	lists, _ := c.discovery.ServerPreferredResources() // an error may come with all but some groups
	var names []string
	for _, list := range lists {
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "watch") && !strings.Contains(r.Name, "/") {
				names = append(names, r.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
}

// printer shows records. It belongs to one goroutine.
type printer struct {
	display *screen.Display
	format  *formatter
	header  bool // still to be printed
}

func (p *printer) show(r record) error {
	lines := p.format.lines(r)
	if p.header {
		p.header = false
		lines = append(p.format.header(), lines...)
	}
	return p.display.Print(lines...)
}

// endAfter is ctx, ended after d with a [timeUpError]; not if d is 0.
func endAfter(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, &timeUpError{after: d})
}
