// Command execplugin is an exec credential plugin as a kubeconfig names it: it prints the token that the file in its first argument
// holds, valid for the duration in its second, and adds a line to the file in its third. With an empty token file it fails
// with exit code 7, as a plugin does whose login has expired.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		os.Exit(7) // a real one would say why; client-go hands that on to our standard error

	}
}

func run(tokenFile, validFor, callsFile string) error {
	calls, err := os.OpenFile(callsFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(calls, "called"); err != nil {
		return err
	}
	if err := calls.Close(); err != nil {
		return err
	}
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		return err
	}
	if len(token) == 0 {
		return errors.New("the login has expired")
	}
	valid, err := time.ParseDuration(validFor)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"apiVersion": "client.authentication.k8s.io/v1",
		"kind":       "ExecCredential",
		"status": map[string]string{
			"token":               strings.TrimSpace(string(token)),
			"expirationTimestamp": time.Now().Add(valid).Format(time.RFC3339Nano),
		},
	})
}
