// Package spec owns the public contract as one document: the services' embedded OpenAPI
// files, merged, and from them the table of which service answers which path.
package spec
