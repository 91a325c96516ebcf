# make demo: the whole of labbot on this machine. make test: every test.
SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  := -s -w -X main.version=$(VERSION)
GOFLAGS_ := -trimpath
LINT     := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
DEMO     ?=

export CGO_ENABLED ?= 0

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: build ## the bot, a Slack-like page, Redis and a cluster, here and now
	@exec bin/labbot demo $(DEMO)

.PHONY: build
build: bin/labbot labcluster ## both programs, in bin/

.PHONY: bin/labbot
bin/labbot:
	@echo "building bin/labbot (about 3 minutes the first time, seconds afterwards)"
	@go build $(GOFLAGS_) -ldflags '$(LDFLAGS)' -o bin/labbot ./cmd/labbot

.PHONY: labcluster
labcluster: ## bin/labcluster, the embedded cluster, from a cache
	@if [ "$$(go env GOOS)" = linux ]; then k8s/labcluster/build.sh bin/labcluster; \
	else echo "the embedded cluster needs Linux: use labbot demo --kubeconfig PATH"; fi

.PHONY: test
test: test-unit test-cluster test-e2e ## every test, unit tests first

.PHONY: test-unit
test-unit: ## tests without a cluster (under 2 minutes with a warm build cache)
	CGO_ENABLED=1 go test -race -timeout 15m $$(go list ./... | grep -v -e /e2e -e /pagetest)

.PHONY: test-cluster
test-cluster: labcluster ## the embedded cluster itself, and the adapters against it
	cd k8s/labcluster && GOFLAGS="-trimpath -buildvcs=false" LABCLUSTER_BIN=$(CURDIR)/bin/labcluster LABCLUSTER_REQUIRED=1 go test -p 1 -timeout 20m ./cri ./e2e
	LABBOT_REQUIRE_CLUSTER=1 LABBOT_LABCLUSTER=$(CURDIR)/bin/labcluster go test -timeout 10m ./k8s

.PHONY: test-e2e
test-e2e: build ## stories: the shipped binary, workspace, Redis, cluster, browser
	LABBOT_BIN=$(CURDIR)/bin/labbot LABBOT_LABCLUSTER=$(CURDIR)/bin/labcluster LABBOT_REQUIRE_CLUSTER=1 LABBOT_ARTIFACTS=$(CURDIR)/artifacts go test -p 1 -timeout 25m -v ./e2e ./bot/workspace/pagetest

.PHONY: check
check: vet lint generated test ## all that must hold before a commit

.PHONY: vet
vet:
	go vet ./...

.PHONY: lint
lint: ## golangci-lint
	$(LINT) run ./...

.PHONY: generated
generated: ## generated files are fresh, both modules are tidy
	go mod tidy -diff
	cd k8s/labcluster && GOFLAGS=-mod=mod go mod tidy -diff

.PHONY: cross
cross: ## the bot builds for macOS and Windows too
	GOOS=darwin GOARCH=arm64 go build -o /dev/null ./cmd/labbot
	GOOS=windows GOARCH=amd64 go build -o /dev/null ./cmd/labbot

.PHONY: clean
clean: ## what make has built (the cluster's cache outside the tree stays)
	rm -rf bin artifacts
