# Every step of the house is a target here; CI runs the same ones. `make` lists them.
SHELL := /usr/bin/env bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

BIN     := $(CURDIR)/bin
MODULES := pkg db services services/agent frontend e2e
GOLANGCI_VERSION := v2.15.0
UP_FLAGS ?=

help: ## List the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Install what is missing from the system's packages
	@deploy/scripts/setup.sh

build: setup ## Build bin/weir and bin/weir-agent
	@mkdir -p $(BIN)
	@[ -e $(BIN)/weir ] || echo "build: the first one takes a minute or two" >&2
	@cd services && go build -trimpath -o $(BIN)/weir ./cmd/weir
	@cd services/agent && CGO_ENABLED=0 go build -trimpath -o $(BIN)/weir-agent ./cmd/weir-agent

up: build ## Run the whole product in one process (UP_FLAGS="--addr …")
	@exec $(BIN)/weir up $(UP_FLAGS)

gen: ## Generate clients and servers from openapi/
	@openapi/gen/gen.sh

verify: gen db-dump ## Regenerate everything and fail if it differs from what is committed
	@git diff --exit-code --stat -- pkg/api services db/schema docs \
	  || { echo "verify: generated files differ; run 'make gen db-dump' and commit" >&2; exit 1; }
	@test -z "$$(git ls-files --others --exclude-standard -- '*.gen.go' db/schema)" \
	  || { echo "verify: generated files are not committed" >&2; exit 1; }

fmt: ## Format the Go code
	@gofmt -w $(MODULES)

lint: $(BIN)/golangci-lint ## golangci-lint over every module
	@for m in $(MODULES); do echo "lint $$m" >&2; (cd $$m && $(BIN)/golangci-lint run --config $(CURDIR)/.golangci.yml ./...); done

$(BIN)/golangci-lint:
	@mkdir -p $(BIN)
	@echo "lint: building golangci-lint $(GOLANGCI_VERSION)" >&2
	@GOWORK=off GOBIN=$(BIN) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

test: build ## Everything: unit, property, store, service, e2e
	@go test -timeout 9m $(TEST_FLAGS) $$(for m in $(MODULES); do echo ./$$m/...; done)

test-short: setup ## All but e2e
	@go test -timeout 9m $(TEST_FLAGS) $$(for m in $(filter-out e2e,$(MODULES)); do echo ./$$m/...; done)

e2e: build ## Only the end-to-end tests
	@go test -count=1 -timeout 9m $(TEST_FLAGS) ./e2e/...

race: setup ## The tests of all modules but e2e under the race detector
	@go test -race -timeout 20m $$(for m in $(filter-out e2e,$(MODULES)); do echo ./$$m/...; done)

db-dump: setup ## Refresh db/schema/*.sql from the migrations
	@cd pkg && go test -count=1 -timeout 5m -run TestSchemasAreAsDumped ./testkit/pgtest -update

migrate-new: ## Start a migration (SCHEMA=allocator NAME=add_x)
	@cd db && go run ./cmd/dbctl new "$(SCHEMA)" "$(NAME)"

demo-openb: build ## Rent and release a production trace (OPENB=dir TRACE=default ROWS=500)
	@cd e2e && go run ./cmd/demo-openb -weir $(BIN)/weir -dir "$(abspath $(OPENB))" -trace "$(or $(TRACE),default)" -rows "$(or $(ROWS),500)"

tidy: ## go mod tidy in every module
	@for m in $(MODULES); do (cd $$m && go mod tidy); done

build-each: ## Build every module on its own, without the workspace
	@for m in $(MODULES); do (cd $$m && GOWORK=off go build ./...); done

adr-new: ## Start a decision record (TITLE="…")
	@n=$$(printf '%04d' $$(( 10#$$(ls docs/adr | grep -oE '^[0-9]{4}' | sort | tail -1) + 1 ))); \
	f=docs/adr/$$n-$$(echo "$(TITLE)" | tr 'A-Z ' 'a-z-').md; \
	printf '# %s. %s\n\nStatus: proposed\n\n## Context\n\n## Decision\n\n## Consequences\n\n## Alternatives\n\n## Test plan\n' "$$n" "$(TITLE)" > $$f; echo $$f

ci: ## What CI runs
	@.ci/run

.PHONY: help setup build up gen verify fmt lint test test-short e2e race db-dump migrate-new demo-openb tidy build-each adr-new ci
