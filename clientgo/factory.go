package clientgo

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// FactoryOptions are what [Register] can't see in a factory. The zero value is right for one made by
// informers.NewSharedInformerFactory.
type FactoryOptions struct {
	Options
	// Namespace is the one the factory was made for (informers.WithNamespace). "": all.
	Namespace string
	// TweakListOptions is the factory's (informers.WithTweakListOptions). Nil: none.
	TweakListOptions func(*metav1.ListOptions)
	// Indexers are given to every informer. Nil: the namespace index, as generated informers have it.
	Indexers cache.Indexers
}

// Register makes our informers the factory's for the given types (&corev1.Pod{}, …): name those that the program uses, since
// the factory's Start starts an informer for each of them. Call it before anything asks the factory for those informers: what it
// has already stays client-go's, and is an error that names the type. Generated listers, Start, WaitForCacheSync and Shutdown
// then work as ever, and so do the factory's resync periods and transform.
func Register(factory informers.SharedInformerFactory, opts FactoryOptions, types ...runtime.Object) error {
	if err := opts.Validate(); err != nil {
		return err
	}
	if len(types) == 0 {
		return errors.New("clientgo: register: no types given")
	}
	known := collections()
	for _, obj := range types {
		t := reflect.TypeOf(obj)
		if t.Kind() != reflect.Pointer {
			return fmt.Errorf("clientgo: register: %T is no pointer to an API type", obj)
		}
		c, ok := known[t.Elem()]
		if !ok {
			return fmt.Errorf("clientgo: register: the clientset has no resource of type %T", obj)
		}
		got := factory.InformerFor(obj, func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
			return c.informer(client, resync, obj, opts)
		})
		if _, own := InformerOf(got); !own {
			return fmt.Errorf("clientgo: register: the factory has an informer of %T already", obj)
		}
	}
	return nil
}

// collection is how a clientset reaches the objects of one type: clientset.GROUP().RESOURCE(namespace?).
type collection struct {
	group, resource string
	namespaced      bool
}

// collections are all resources of the clientset that can be listed and watched, by the type of their objects.
func collections() map[reflect.Type]collection {
	found := map[reflect.Type]collection{}
	clientset := reflect.TypeFor[kubernetes.Interface]()
	for n := range clientset.NumMethod() {
		group := clientset.Method(n)
		if group.Type.NumIn() != 0 || group.Type.NumOut() != 1 || group.Type.Out(0).Kind() != reflect.Interface {
			continue
		}
		for m := range group.Type.Out(0).NumMethod() {
			resource := group.Type.Out(0).Method(m)
			in := resource.Type.NumIn()
			if resource.Type.NumOut() != 1 || in > 1 || in == 1 && resource.Type.In(0).Kind() != reflect.String {
				continue
			}
			if object, ok := listed(resource.Type.Out(0)); ok {
				found[object] = collection{group: group.Name, resource: resource.Name, namespaced: in == 1}
			}
		}
	}
	return found
}

// listed is the type of the objects that a client with List and Watch gives.
func listed(client reflect.Type) (object reflect.Type, ok bool) {
	if client.Kind() != reflect.Interface {
		return nil, false
	}
	list, has := client.MethodByName("List")
	if _, watches := client.MethodByName("Watch"); !has || !watches || list.Type.NumOut() != 2 || list.Type.Out(0).Kind() != reflect.Pointer {
		return nil, false
	}
	items, has := list.Type.Out(0).Elem().FieldByName("Items")
	if !has || items.Type.Kind() != reflect.Slice || items.Type.Elem().Kind() != reflect.Struct {
		return nil, false
	}
	return items.Type.Elem(), true
}

// informer makes an informer of the collection.
func (c collection) informer(clientset kubernetes.Interface, resync time.Duration, obj runtime.Object, opts FactoryOptions) cache.SharedIndexInformer {
	var args []reflect.Value
	if c.namespaced {
		args = append(args, reflect.ValueOf(opts.Namespace))
	}
	client := reflect.ValueOf(clientset).MethodByName(c.group).Call(nil)[0].MethodByName(c.resource).Call(args)[0]
	lw := opts.listWatch(clientset,
		func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return call[runtime.Object](client.MethodByName("List"), ctx, options)
		},
		func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return call[watch.Interface](client.MethodByName("Watch"), ctx, options)
		})
	return opts.NewInformer(lw, obj, resync, opts.indexers())
}

// call calls a client's List or Watch. A clientset's typed results are pointers or interfaces: nil comes with an error.
func call[R any](method reflect.Value, ctx context.Context, options metav1.ListOptions) (result R, err error) {
	out := method.Call([]reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(options)})
	if err, _ = out[1].Interface().(error); err != nil {
		return result, err
	}
	return out[0].Interface().(R), nil
}
