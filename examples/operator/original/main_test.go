package main

func Example() {
	main()
	// Unordered output:
	// user: create website default/blog: "hello"
	// operator: created ConfigMap default/blog: "hello"
	// user: change website default/blog: "good-bye"
	// operator: updated ConfigMap default/blog: "good-bye"
	// user: delete ConfigMap default/blog
	// operator: created ConfigMap default/blog: "good-bye"
}
