// Package inventory owns the hardware: pools, nodes and cards as their agents report them,
// whether they are healthy, how machines join, and the certificates by which they speak.
package inventory
