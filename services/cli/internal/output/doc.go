// Package output owns how data is written on standard output: tables for people, JSON and
// YAML for scripts. JSON is the answer of the REST API, so that its documentation holds.
package output
