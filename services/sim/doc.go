// Package sim owns simulated nodes: it hosts real agents on simulated cards, lets them join
// through the agents' own door, and breaks them on request.
package sim
