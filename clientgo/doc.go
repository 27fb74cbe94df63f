// Package clientgo puts informerkit's informers where client-go's and controller-runtime's users have theirs: as
// k8s.io/client-go/tools/cache.SharedIndexInformer, so that nothing else in a program changes.
//
// Adopting is one line:
//
//   - controller-runtime: set cache.Options.NewInformer to [NewInformer].
//   - A generated factory: call [Register] after making it; its listers, Start, WaitForCacheSync and Shutdown stay.
//   - Dynamic and metadata factories: make them with [NewDynamicSharedInformerFactory] and [NewMetadataSharedInformerFactory].
//
// The informers are those of package cache, with client-go's names for types: handlers get client-go's tombstones
// (DeletedFinalStateUnknown), and what they hand in (index functions, transforms, watch error handlers) is client-go's.
// docs/migration.md tells what behaves differently, and why.
//
// [InformerOf] gives what client-go's interface has no names for: status with reasons, typed indexes, delivery policies.
package clientgo
