// Package metrics publishes the status of informers to Prometheus.
//
// A [Collector] is asked when Prometheus scrapes and reads the informers' status then: nothing is counted on the way of an
// event, and what is taken out leaves no series behind.
package metrics
