// Package process owns the runtime that runs members as sandboxed processes of the node itself, each under a shim. It is
// for simulated cards: demos, tests, development. It is refused next to real cards.
//
// Walls: an own unprivileged uid, user, mount, process, network, IPC and UTS namespaces, no capabilities, no new
// privileges, a read-only root of the system's programs, private /tmp and /proc. Where the machine does not allow all of
// it, the strongest subset is used and Facts names what is missing. vCPU and RAM are counted by the allocator and not
// enforced here.
//
// A member is a folder of dir/members; its uid is a file of dir/uids, made exclusively, so that no two members share one
// even when two agents share a range. Logs of members that ended stay readable for a while under dir/ended.
package process
