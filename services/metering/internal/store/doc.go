// Package store owns metering's SQL: prices, intervals, progress and orgs. Statements with
// arrays go to the connection of the transaction as they are; gorm would spread them.
package store
