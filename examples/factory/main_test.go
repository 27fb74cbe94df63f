package main

func Example() {
	main()
	// Unordered output:
	// user: create namespace red
	// user: create namespace blue
	// controller: create red/certificates
	// controller: create blue/certificates
	// user: create namespace green
	// controller: create green/certificates
	// user: delete blue/certificates
	// controller: create blue/certificates
	// user: spoil blue/certificates
	// controller: repair blue/certificates
}
