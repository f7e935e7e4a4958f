package problem

import (
	"net/http"

	"github.com/weirhq/weir/pkg/kernel/fault"
)

// MethodNotAllowed is the one code that no handler returns: the path exists, the method
// does not.
const MethodNotAllowed fault.Code = "method_not_allowed"

// Meaning is what a code looks like on the wire and what people do about it.
type Meaning struct {
	Code     fault.Code
	Status   int
	Title    string
	Caller   string // what the caller does
	Operator string // what the operator does
}

// Codes is the one table of codes and statuses, in the order they are documented.
var Codes = []Meaning{
	{fault.Invalid, http.StatusUnprocessableEntity, "The request is not valid", "Correct the fields named in `errors`.", "Nothing."},
	{fault.Unauthenticated, http.StatusUnauthorized, "A valid credential is needed", "Log in again, or check the API key.", "Nothing; many from one address may be an attack."},
	{fault.Forbidden, http.StatusForbidden, "Not allowed", "Ask an owner or admin of the org for the role named in `detail`.", "Nothing."},
	{fault.NotFound, http.StatusNotFound, "Not found", "Check the id and the org of the credential: another org's object answers the same.", "Nothing."},
	{MethodNotAllowed, http.StatusMethodNotAllowed, "Method not allowed", "Use a method of the `Allow` header.", "Nothing."},
	{fault.Conflict, http.StatusConflict, "In conflict with the present state", "Read the object again and decide anew.", "Nothing."},
	{fault.IdempotencyMismatch, http.StatusConflict, "The idempotency key was used for another request", "Use a new key for a new request.", "Nothing."},
	{fault.QuotaExceeded, http.StatusConflict, "A limit is reached", "Release something, take one of `alternatives`, or ask for a higher limit.", "Raise the org's limit if it is justified."},
	{fault.NoCapacity, http.StatusConflict, "No room for this now", "Take one of `alternatives`, or try later.", "Look at fragmentation and at nodes that are not ready."},
	{fault.PriceChanged, http.StatusConflict, "The price has changed", "Read the offering again and accept its price.", "Nothing."},
	{fault.Stale, http.StatusPreconditionFailed, "Changed by somebody else meanwhile", "Read the object again, then repeat with its new `ETag`.", "Nothing."},
	{fault.Gone, http.StatusGone, "No longer kept", "Between services only: list, then watch.", "Look at the consumer's lag if it happens again and again."},
	{fault.TooLarge, http.StatusRequestEntityTooLarge, "The request is too large", "Send at most 1 MiB.", "Nothing."},
	{fault.SpendLimit, http.StatusPaymentRequired, "A spending limit is reached", "Raise the budget or release something.", "Nothing."},
	{fault.OrgOverdue, http.StatusPaymentRequired, "The org has unpaid bills", "Pay; starting new work is possible again after that.", "See the org's balance."},
	{fault.OrgSuspended, http.StatusForbidden, "The org is suspended", "Contact the operator.", "See why the org was suspended."},
	{fault.RateLimited, http.StatusTooManyRequests, "Too many requests", "Wait for `Retry-After` seconds.", "Raise the limit if the use is fair."},
	{fault.Unavailable, http.StatusServiceUnavailable, "A part is not available right now", "Repeat after `Retry-After` seconds with the same idempotency key.", "`/readyz` names the part that is missing."},
	{fault.Internal, http.StatusInternalServerError, "Something went wrong on our side", "Repeat with the same idempotency key; report the `request_id` if it stays.", "Find the request id in the log; this is a defect."},
}

var byCode = func() map[fault.Code]Meaning {
	m := map[fault.Code]Meaning{}
	for _, c := range Codes {
		m[c.Code] = c
	}
	return m
}()

// Of returns the meaning of c; an unknown code is internal.
func Of(c fault.Code) Meaning {
	if m, ok := byCode[c]; ok {
		return m
	}
	return byCode[fault.Internal]
}
