// Package store keeps the tenant service's rows in PostgreSQL. It is the only room that
// knows gorm, and the place where a violated constraint becomes a fault and where a
// change of an org or its limits becomes a feed item in the same transaction.
package store
