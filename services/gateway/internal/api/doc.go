// Package api owns the operations that the gateway answers itself: health, the merged
// contract, and the pages that mix facts of several services.
package api
