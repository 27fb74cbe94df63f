package workload_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/apitest/workload"
)

func Example() {
	server := apitest.NewServer(apitest.Options{})
	defer server.Close()
	busy, err := workload.New(server, workload.Options{Seed: 1, Nodes: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 100 {
		if err := busy.Step(); err != nil {
			fmt.Println(err)
			return
		}
	}
	nodes, err := apitest.List[*corev1.Node](server, workload.Nodes, "")
	fmt.Println(len(nodes), err)
	// Output: 3 <nil>
}
