#!/usr/bin/env bash
# Generates the Go clients and servers from openapi/. Without arguments: everything;
# with names, only those: gen.sh common tenant agent. A file that does not exist is skipped.
#
#   common            → pkg/api/commonapi (clients), pkg/api/commonserver (servers)
#   public/S.yaml     → pkg/api/Sapi, services/S/internal/api/publicgen and, for the merged
#                       document, services/gateway/internal/spec/Sspec
#   internal/S.yaml   → pkg/api/Smeshapi and services/S/internal/api/meshgen
#   agent/v1.yaml     → pkg/api/agentapi and, by tag, services/S/internal/api/agentgen
set -euo pipefail
cd "$(dirname "$0")/../../pkg" # the generator is a tool of this module
root=..
spec=$root/openapi
tool=$(go tool -n oapi-codegen)

# gen CONFIG INPUT OUTDIR FILE [flags…]: the package is named after its folder.
gen() {
  local config=$1 input=$2 out=$3/$4 dir=$root/$3
  shift 4
  [[ -f $spec/$input ]] || return 0
  mkdir -p "$dir"
  local tmp
  tmp=$(mktemp "$dir/.gen.XXXXXX") # a rename, so that a build next door never reads half a file
  if ! "$tool" -config "$spec/gen/$config.yaml" -package "$(basename "$dir")" "$@" -o "$tmp" "$spec/$input"; then
    rm -f "$tmp"
    echo "gen.sh: $input failed" >&2
    return 1
  fi
  # Strict handlers get the request's own context: gin's is reused for later requests while
  # drivers and HTTP clients may still look at it.
  sed -i -E 's/return sh\.ssi\.([A-Za-z0-9_]+)\(ctx, /return sh.ssi.\1(ctx.Request.Context(), /' "$tmp"
  chmod 644 "$tmp"
  mv "$tmp" "$root/$out"
  echo "  $out"
}

common() {
  gen common-client common.yaml pkg/api/commonapi types.gen.go
  gen common-server common.yaml pkg/api/commonserver types.gen.go
}

service() {
  gen client "public/$1.yaml" "pkg/api/$1api" client.gen.go
  gen server "public/$1.yaml" "services/$1/internal/api/publicgen" server.gen.go
  gen spec "public/$1.yaml" "services/gateway/internal/spec/$1spec" spec.gen.go
  gen client "internal/$1.yaml" "pkg/api/$1meshapi" client.gen.go
  gen server "internal/$1.yaml" "services/$1/internal/api/meshgen" server.gen.go
}

agent() {
  gen client agent/v1.yaml pkg/api/agentapi client.gen.go
  for s in inventory allocator; do
    gen server agent/v1.yaml "services/$s/internal/api/agentgen" server.gen.go -include-tags "$s"
  done
}

if (($# == 0)); then
  mapfile -t services < <(find "$spec/public" "$spec/internal" -name '*.yaml' -exec basename {} .yaml \; | LC_ALL=C sort -u)
  set -- common "${services[@]}" agent
fi
for name in "$@"; do
  case $name in
    common) common ;;
    agent) agent ;;
    *) service "$name" ;;
  esac
done
