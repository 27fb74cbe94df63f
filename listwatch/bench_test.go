package listwatch

import (
	stdjson "encoding/json"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func podList(n int) *corev1.PodList {
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "9"}}
	for i := range n {
		p := bigPod(fmt.Sprint("pod-", i), fmt.Sprint(i+1))
		p.Annotations = map[string]string{"config": `{"a":[1,2,3],"b":"` + fmt.Sprint(i) + `"}`}
		for c := range 3 {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: fmt.Sprint("c", c), Image: "registry.example.com/team/app:v1",
				Env: []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}}, Command: []string{"run", "--flag", "--other"}})
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: fmt.Sprint("c", c), Ready: true, ImageID: "sha256:0123456789abcdef"})
		}
		list.Items = append(list.Items, *p)
	}
	return list
}

// BenchmarkPage takes a page of 500 pods apart. With decode=none its reader has all objects already, as on a relist.
func BenchmarkPage(b *testing.B) {
	list := podList(500)
	inJSON, err := stdjson.Marshal(list)
	if err != nil {
		b.Fatal(err)
	}
	c, err := newCodec[*corev1.Pod]()
	if err != nil {
		b.Fatal(err)
	}
	for _, format := range []struct {
		name string
		body []byte
	}{{"json", inJSON}, {"protobuf", encoded(b, list)}} {
		for _, decode := range []string{"all", "none"} {
			b.Run(fmt.Sprintf("format=%s/decode=%s", format.name, decode), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(format.body)))
				for b.Loop() {
					page, err := c.page(format.body)
					if err != nil || len(page.Items) != 500 {
						b.Fatal(err)
					}
					for i := range page.Items {
						if decode == "all" {
							if _, err := page.Items[i].Object(); err != nil {
								b.Fatal(err)
							}
						}
					}
				}
			})
		}
	}
}
