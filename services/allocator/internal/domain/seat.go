package domain

import "time"

// Seat is a slice of a card held by a member.
type Seat struct {
	ID, Org, Member, GPU string
	Kind                 Kind
	Profile              string
	Start, Size          int
	Share                int
	MemoryMiB            int64
	AssignedAt           time.Time
	Boot                 string
	ReleasedAt           *time.Time
	Cleaning             Cleaning
	ReleasedBy           ReleasedBy
	Live                 *Live
}

// Live is what the agent made of a seat. The driver reuses these identities.
type Live struct {
	DeviceUUID string
	GI, CI     *int
	SMs        *int
	MemoryMiB  *int64
}
