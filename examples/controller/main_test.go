package main

func Example() {
	main()
	// Unordered output:
	// user: create default/web with 3 replicas
	// controller: created a pod of default/web
	// controller: created a pod of default/web
	// controller: created a pod of default/web
	// user: delete one of 3 pods
	// controller: created a pod of default/web
	// user: scale default/web to 1
	// controller: deleted a pod of default/web
	// controller: deleted a pod of default/web
}
