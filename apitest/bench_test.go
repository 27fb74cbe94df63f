package apitest_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/informerkit/informerkit/apitest"
)

func filled(b *testing.B, n int) *apitest.Server {
	s := apitest.NewServer(apitest.Options{})
	b.Cleanup(s.Close)
	for i := range n {
		p := labelled(pod(fmt.Sprint("ns", i%20), fmt.Sprintf("p%06d", i)), map[string]string{"app": fmt.Sprint(i % 100)})
		p.Spec.Containers = []corev1.Container{{Name: "c", Image: "registry.example.com/app:1"}}
		if _, err := apitest.Create(s, p); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

func BenchmarkCreate(b *testing.B) {
	s := filled(b, 0)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := apitest.Create(s, pod("ns", fmt.Sprint("p", i))); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkListPages(b *testing.B) {
	const objects = 100_000
	for _, through := range []string{"source", "http-json", "http-protobuf"} {
		b.Run(fmt.Sprintf("objects=%d/through=%s", objects, through), func(b *testing.B) {
			s := filled(b, objects)
			src := apitest.Source[*corev1.Pod](s, pods, "")
			if err := s.Start(); err != nil {
				b.Fatal(err)
			}
			cfg := s.Config()
			if through == "http-protobuf" {
				cfg.ContentType = "application/vnd.kubernetes.protobuf"
			}
			client, err := kubernetes.NewForConfig(cfg)
			if err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			for b.Loop() {
				n, opts := 0, metav1.ListOptions{Limit: 500}
				for {
					if through == "source" {
						page, err := src.List(ctx, opts)
						if err != nil {
							b.Fatal(err)
						}
						n, opts.Continue = n+len(page.Items), page.Continue
					} else {
						list, err := client.CoreV1().Pods("").List(ctx, opts)
						if err != nil {
							b.Fatal(err)
						}
						n, opts.Continue = n+len(list.Items), list.Continue
					}
					if opts.Continue == "" {
						break
					}
				}
				if n != objects {
					b.Fatalf("%d objects", n)
				}
			}
		})
	}
}
