// Package shim owns the small processes around a member's command: one that outlives the agent and keeps log and exit
// status, one that builds the sandbox, and one that is the first process inside it. All are this very binary, started again
// with a hidden first argument, so every main function and every TestMain that uses the process runtime calls MaybeRun
// before anything else.
//
//	agent ─ starts → shim (own session, root, outside) ─ clones → setup (new namespaces, own uid) ─ becomes → init (pid 1,
//	no privileges) ─ starts → the tenant's command
//
// Invariants:
//   - Nothing of the agent's death reaches the command; the death of the shim ends it.
//   - The command has no capabilities, cannot gain any, and sees no file of the node but the system's programs, read-only.
//   - A command's output never blocks it, fills more than its limit, or outlives a full disk.
//   - exit.json and state.json appear whole or not at all. Commands and environments are never written to disk.
package shim
