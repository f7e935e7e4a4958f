package driver

import "errors"

// What a card answers, by NVML's own names. Compare with errors.Is; the texts of real libraries differ by version.
var (
	// ErrNoRoom: the placement is occupied, or nothing of that profile is left. The driver does not say which.
	ErrNoRoom = errors.New("insufficient resources")
	// ErrInvalid: a profile or placement this card does not have.
	ErrInvalid = errors.New("invalid argument")
	// ErrInUse: another client holds the card or the instance.
	ErrInUse = errors.New("in use by another client")
	// ErrNotSupported: MIG mode is off, or the card cannot do this.
	ErrNotSupported = errors.New("not supported")
	// ErrNotFound: no such card or instance.
	ErrNotFound = errors.New("not found")
	// ErrLost: the card has fallen off the bus.
	ErrLost = errors.New("GPU is lost")
)
