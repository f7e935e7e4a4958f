#!/usr/bin/env bash
# Installs what Weir needs from the system's own packages, and says in one sentence what
# it may not install. Safe to run again: it does nothing when all is there.
set -euo pipefail

fail() { echo "setup: $*" >&2; exit 1; }

# at_least HAVE WANT: whether the dotted version HAVE is WANT or newer.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n1)" = "$2" ]; }

command -v go >/dev/null || fail "Go 1.26 or newer is needed and was not found; install it from https://go.dev/dl and run this again."
go_version=$(GOTOOLCHAIN=local go env GOVERSION | sed 's/^go//')
at_least "$go_version" 1.26 || fail "Go 1.26 or newer is needed, this machine has $go_version; install it from https://go.dev/dl and run this again."

command -v node >/dev/null || fail "Node 20 or newer is needed and was not found; install it from https://nodejs.org and run this again."
node_version=$(node --version | sed 's/^v//')
at_least "$node_version" 20 || fail "Node 20 or newer is needed, this machine has $node_version; install it from https://nodejs.org and run this again."

have_postgres() {
  command -v initdb >/dev/null 2>&1 && command -v postgres >/dev/null 2>&1 && return 0
  local d
  for d in /usr/lib/postgresql/*/bin; do
    [ -x "$d/postgres" ] && at_least "$(basename "$(dirname "$d")")" 15 && return 0
  done
  return 1
}
have_btree_gist() { compgen -G '/usr/share/postgresql/*/extension/btree_gist.control' >/dev/null || ! [ -d /usr/lib/postgresql ]; }

if ! have_postgres || ! have_btree_gist; then
  command -v apt-get >/dev/null || fail "PostgreSQL 15 or newer is needed; this system has no apt-get, so install it yourself and run this again."
  root=""
  if [ "$(id -u)" != 0 ]; then
    sudo -n true 2>/dev/null || fail "PostgreSQL 15 or newer is needed; run 'sudo apt-get install postgresql' once (this user may not install packages)."
    root="sudo"
  fi
  echo "setup: installing PostgreSQL from the system's packages" >&2
  # Weir starts its own private server: the package must not start a second one.
  if ! [ -e /etc/postgresql-common/createcluster.conf ]; then
    $root mkdir -p /etc/postgresql-common
    echo "create_main_cluster = false" | $root tee /etc/postgresql-common/createcluster.conf >/dev/null
  fi
  log=$(mktemp)
  if ! { $root apt-get update -qq && $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql; } >"$log" 2>&1; then
    cat "$log" >&2
    fail "the system's packages could not be installed; what apt-get said stands above."
  fi
  rm -f "$log"
  have_postgres || fail "the system's packages brought no PostgreSQL 15 or newer; Debian 12 is what Weir is tested on."
fi
