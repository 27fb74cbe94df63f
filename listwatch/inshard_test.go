package listwatch_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/listwatch"
)

var podsResource = corev1.SchemeGroupVersion.WithResource("pods")

// everyClient gives the pods of s by each kind of client.
func everyClient(t *testing.T, s *apitest.Server) map[string]listwatch.Source[runtime.Object] {
	t.Helper()
	config := s.Config()
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	inDynamic, err := dynamic.NewForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	inMetadata, err := metadata.NewForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	rest := clientset.CoreV1().RESTClient()
	return map[string]listwatch.Source[runtime.Object]{
		"typed":             listwatch.For[runtime.Object](clientset.CoreV1().Pods("")),
		"dynamic":           listwatch.For[runtime.Object](inDynamic.Resource(podsResource)),
		"metadata":          listwatch.For[runtime.Object](inMetadata.Resource(podsResource)),
		"REST":              listwatch.Objects(listwatch.REST[*corev1.Pod](rest, "pods", "")),
		"REST unstructured": listwatch.Objects(listwatch.REST[*unstructured.Unstructured](rest, "pods", "")),
		"REST metadata":     listwatch.Objects(listwatch.REST[*metav1.PartialObjectMetadata](rest, "pods", "")),
		"in process":        apitest.Source[runtime.Object](s, podsResource, ""),
	}
}

// Whatever the client, the server gets the selector, and what comes is the shard, also if the server does not know shards.
func TestInShardOfEveryClient(t *testing.T) {
	for _, sharding := range []bool{true, false} {
		t.Run(fmt.Sprintf("sharding=%t", sharding), func(t *testing.T) {
			s := apitest.NewServer(apitest.Options{Sharding: sharding})
			defer s.Close()
			if err := s.Start(); err != nil {
				t.Fatal(err)
			}
			half := eighths(0, 4)
			// create makes pods until count are in the shard, the last one among them.
			create := func(prefix string, count int) (in []string) {
				for n := 0; len(in) < count; n++ {
					made, err := apitest.Create(s, pod(fmt.Sprintf("%s%02d", prefix, n), nil))
					if err != nil {
						t.Fatal(err)
					}
					if half.Has(string(made.UID), "") {
						in = append(in, "default/"+made.Name)
					}
				}
				return in
			}
			want := create("a", 10)
			rv := s.ResourceVersion()
			news := create("b", 10)
			for name, source := range everyClient(t, s) {
				t.Run(name, func(t *testing.T) {
					s.ForgetRequests()
					source := listwatch.InShard(source, half)
					page, err := source.List(t.Context(), metav1.ListOptions{ResourceVersion: rv, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
					if err != nil {
						t.Fatal(err)
					}
					var listed []string
					for n := range page.Items {
						listed = append(listed, page.Items[n].Key)
					}
					if !slices.Equal(listed, want) {
						t.Errorf("listed %v, want %v", listed, want)
					}
					told, versions := follow(t, source, rv, s.ResourceVersion())
					if !slices.Equal(told, news) {
						t.Errorf("watched %v, want %v", told, news)
					}
					if more := versions > len(news); more == sharding {
						t.Errorf("%d resource versions were told, with %d objects", versions, len(news))
					}
					for _, r := range s.Requests() {
						if r.Options.ShardSelector != half.Selector() {
							t.Errorf("%s asks for %q", r.Verb, r.Options.ShardSelector)
						}
					}
				})
			}
		})
	}
}

// follow watches from one resource version to another. It counts the versions that are told, also of what is not in the shard.
func follow(t *testing.T, source listwatch.Source[runtime.Object], from, to string) (keys []string, versions int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := source.Watch(ctx, metav1.ListOptions{ResourceVersion: from})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	for last := ""; last != to; {
		events, err := stream.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for n := range events {
			last = events[n].Item.ResourceVersion
			versions++
			if events[n].Type != listwatch.Bookmark {
				keys = append(keys, events[n].Item.Key)
			}
		}
	}
	return keys, versions
}

// A real server's list says that it is a part; ours says so in each form.
func TestServerEchoesTheSelector(t *testing.T) {
	s := apitest.NewServer(apitest.Options{Sharding: true})
	defer s.Close()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	clientset, err := kubernetes.NewForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	inDynamic, err := dynamic.NewForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	opts := metav1.ListOptions{ShardSelector: eighths(0, 4).Selector()}
	typed, err := clientset.CoreV1().Pods("").List(t.Context(), opts)
	if err != nil || typed.ShardInfo == nil || typed.ShardInfo.Selector != opts.ShardSelector {
		t.Errorf("typed: %v, %v", typed.ShardInfo, err)
	}
	list, err := inDynamic.Resource(podsResource).List(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, _ := unstructured.NestedString(list.Object, "metadata", "shardInfo", "selector"); got != opts.ShardSelector {
		t.Errorf("unstructured: %q", got)
	}
	if all, err := clientset.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{}); err != nil || all.ShardInfo != nil {
		t.Errorf("a list of everything: %v, %v", all.ShardInfo, err)
	}
	if _, err := clientset.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{ShardSelector: "half"}); err == nil {
		t.Error("a selector that can't be read is no error")
	}
}
