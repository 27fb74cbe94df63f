// Package cli is the informerkit command: one file per subcommand. What it decides (which resource is meant, whether an
// error is worth another try, what a line looks like) is in pure functions; the commands add the cluster and the clock.
package cli
