// Package outbox owns how facts move between services: a feed.
//
// Writing. Put is part of the transaction that makes a change, after it has locked the row
// it changes; so a change and its item exist together or not at all. A sequencing pass
// gives committed items a dense position afterwards. (Neither ids nor sequences may be
// followed directly: a lower one can become visible later and would be skipped.) Any
// process of the service runs passes; two at once do no harm.
//
// Reading. GET …/feed?name=&after=<incarnation>:<pos>:<item>&wait=30s[&sync=1] answers the
// items after a position, waiting for one if there is none; sync=1 runs a pass first, so
// that everything committed before the call is in the answer. as_of is an instant such
// that every change committed before it is at or below the last item, unless the answer is
// truncated. A position that this feed cannot continue from (another incarnation after a
// restored backup, another item there, a head below it, past retention) is 410: then
// GET …/feed/list?name= answers the present state with a cursor taken before it was read,
// so that watching from there overlaps instead of missing anything.
//
// Consumer applies items and stores its cursor in one transaction: exactly-once effect.
// Nothing is ever closed or deleted because it is absent from a list: a list says what is
// there, not what is not, and keeping that rule is the duty of the relist function.
package outbox
