# linkstream: `make help` lists what there is. Tools are pinned here and nowhere
# else, and install to ./bin.

BUF_VERSION            := 1.75.0
PROTOC_GEN_GO_VERSION  := v1.36.12
PROTOC_GEN_CONNECT_VERSION := v2.0.2
GOLANGCI_LINT_VERSION  := v2.15.0
GOVULNCHECK_VERSION    := v1.9.0
OAPI_CODEGEN_VERSION   := v2.8.2
REDOCLY_VERSION        := 2.77.0
REDOC_VERSION          := 2.5.4
REDOC_SHA256           := dcaf76612bc4a3fbcc923a8966dee2f6146a5f32e5ce1b6f02dd60cbbf89500b
SCHEMATHESIS_VERSION   := 4.32.5
PROTOBUFJS_VERSION     := 8.8.1
ASYNCAPI_SPECS_VERSION := 6.11.1
ASYNCAPI_SPECS_SHA256  := 01af8744dc33c0c7eb2e908f6a955319ee58b70ecadc9387d1aeb16c0cd28928

REGIONS  ?= fra ash
EDGES    ?= 1
SCENARIO ?= steady
T        ?= 10s

SHELL   := bash
.SHELLFLAGS := -euo pipefail -c
ROOT    := $(CURDIR)
BIN     := $(ROOT)/.local/bin
WEB     := services/dashboard/web
MODULES := events migrations services/internal services/internal/ratelimit/versus services/links services/cacheupdater services/redirect services/clicks services/analytics services/dashboard services/webhooks services/canary compose/local loadtest
SERVICES := links cacheupdater redirect clicks analytics dashboard webhooks canary
BUF     := $(ROOT)/bin/buf-$(BUF_VERSION)/node_modules/.bin/buf
GOLANGCI := $(ROOT)/bin/golangci-lint-$(GOLANGCI_LINT_VERSION)
OAPI_CODEGEN := $(ROOT)/bin/oapi-codegen-$(OAPI_CODEGEN_VERSION)
REDOCLY := $(ROOT)/bin/redocly-$(REDOCLY_VERSION)/node_modules/.bin/redocly
SCHEMATHESIS := $(ROOT)/bin/schemathesis-$(SCHEMATHESIS_VERSION)/bin/schemathesis
REDOC   := $(ROOT)/bin/redoc-$(REDOC_VERSION)
PROMTOOL := $(ROOT)/bin/promtool
PROTOBUFJS := $(ROOT)/bin/protobufjs-$(PROTOBUFJS_VERSION)/node_modules
ASYNCAPI_SCHEMA := $(ROOT)/bin/asyncapi-specs-$(ASYNCAPI_SPECS_VERSION)/schemas/3.0.0-without-$$id.json

# The commit, which Go does not note in a worktree, nor where -buildvcs is off. A folder
# that is no clone has none, also inside of somebody else's.
REVISION := $(shell [ -e .git ] && git describe --always --dirty --abbrev=40 --exclude '*' 2>/dev/null || echo unknown)
LDFLAGS  := -X github.com/linkstream/linkstream/services/internal/telemetry.revision=$(REVISION)

# The race detector needs cgo and a C compiler; without them the tests still run.
RACE := $(shell if [ "$$(go env CGO_ENABLED)" = 1 ] && command -v "$$(go env CC)" >/dev/null; then echo -race; fi)

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: install
install: ## install what is missing: Postgres, Redis (apt or brew), libchdb (npm)
	@./compose/local/install.sh

.PHONY: build
build: web ## build every program into .local/bin
	@mkdir -p $(BIN)
	@echo "building the programs"
	@go build -ldflags '$(LDFLAGS)' -o $(BIN)/ ./compose/local/cmd/... ./events/cmd/... ./migrations/cmd/... ./loadtest/cmd/... $(foreach s,$(SERVICES),./services/$(s)/cmd/$(s))

.PHONY: web
web: $(WEB)/dist/index.html ## build the dashboard's web app

$(WEB)/dist/index.html: $(REDOC)/bundles/redoc.standalone.js $(WEB)/package-lock.json $(shell find $(WEB) -path '*/node_modules' -prune -o -path '*/dist' -prune -o -type f -print)
	@command -v npm >/dev/null || { echo "npm is missing: install Node.js 20.19 or newer" >&2; exit 1; }
	@echo "building the web app"
	@cd $(WEB) && npm ci --no-audit --no-fund --loglevel=error >/dev/null && npm run --silent build -- --logLevel warn
	@# the API reference; its one picture from another host becomes our own icon
	@mkdir -p $(WEB)/dist/docs
	@sed 's#https://cdn.redoc.ly/redoc/logo-mini.svg#/favicon.svg#g' $(REDOC)/bundles/redoc.standalone.js > $(WEB)/dist/docs/redoc.js
	@cat $(REDOC)/LICENSE $(REDOC)/bundles/redoc.standalone.js.LICENSE.txt > $(WEB)/dist/docs/redoc-licences.txt
	@touch $@

.PHONY: run
run: install build ## start everything on this machine; REGIONS="fra ash sgp" EDGES=2 for more, CANARY=1 for a canary
	@REGIONS="$(REGIONS)" EDGES="$(EDGES)" CANARY="$(CANARY)" exec $(BIN)/stack up

.PHONY: clean
clean: ## stop what was left running and remove .local/
	@if [ -x $(BIN)/stack ]; then $(BIN)/stack clean; fi
	@rm -rf .local

.PHONY: migrate
migrate: ## apply what is missing to the databases and topics named by LINKSTREAM_*
	@go run ./migrations/cmd/migrate all

.PHONY: test
test: install build test-go test-web e2e ## install what is missing and run every test

.PHONY: test-go
test-go: install build $(PROTOBUFJS) $(dir $(ASYNCAPI_SCHEMA)) ## unit, contract and store tests of all modules
	@# allocations and hit rates are measured without the race detector, which adds its own and drops samples
	go test -run 'Budget|Allocate|Crawl' ./events/... ./services/internal/address ./services/redirect/...
	LINKSTREAM_TEST_PROTOBUFJS=$(PROTOBUFJS) LINKSTREAM_TEST_ASYNCAPI_SCHEMA='$(ASYNCAPI_SCHEMA)' \
	LINKSTREAM_TEST_CLICKHOUSE_BIN=$(BIN)/clickhouse go test $(RACE) -timeout 10m $(foreach m,$(filter-out loadtest,$(MODULES)),./$(m)/...) $$(go list ./loadtest/... | grep -v /e2e)

.PHONY: test-web
test-web: web ## type check, lint and test the web app
	@cd $(WEB) && npm run --silent check

.PHONY: e2e
e2e: install build ## the whole system: built programs, two regions, two edges each
	LINKSTREAM_E2E_BIN=$(BIN) go test -count=1 -v -timeout 25m ./loadtest/e2e

.PHONY: test-browser
test-browser: install build ## the dashboard in Chromium: a day's work and axe-core; pictures in .local/screenshots
	LINKSTREAM_E2E_BIN=$(BIN) go test -count=1 -v -timeout 20m -run TestTheDashboardInABrowser ./loadtest/e2e

.PHONY: test-openapi
test-openapi: install build ## the whole system again with schemathesis (needs Python 3.10 and PyPI), or a clear word that it cannot be had
	@if ! $(MAKE) --no-print-directory $(SCHEMATHESIS); then echo "schemathesis cannot be had here: the document is not tested by a stranger"; exit 0; fi; \
	LINKSTREAM_E2E_SCHEMATHESIS=$(SCHEMATHESIS) LINKSTREAM_E2E_BIN=$(BIN) go test -count=1 -v -timeout 15m -run 'TestWholeSystem/a_foreign_tester' ./loadtest/e2e

# RUN narrows down which tests of the whole system run on Apache Kafka.
RUN ?= .

.PHONY: test-kafka
test-kafka: ## the whole system again on Apache Kafka (needs Java 17 and Maven), or some of its tests: RUN=TestChaos
	@for tool in java mvn; do command -v $$tool >/dev/null || { echo "$$tool is missing: make test-kafka needs Java 17 and Maven" >&2; exit 1; }; done
	@$(MAKE) --no-print-directory install build
	@./compose/local/kafka/fetch.sh
	LINKSTREAM_E2E_BIN=$(BIN) LINKSTREAM_E2E_BROKER=kafka go test -count=1 -v -timeout 20m -run '$(RUN)' ./loadtest/e2e

.PHONY: bench
bench: ## micro-benchmarks of all modules
	go test -run '^$$' -bench . -benchmem $(foreach m,$(filter-out loadtest,$(MODULES)),./$(m)/...)

.PHONY: fuzz
fuzz: ## every fuzz target for T (10s)
	@for m in $(MODULES); do for pkg in $$(cd $$m && go list ./...); do \
	  for f in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do echo "$$pkg $$f"; go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(T) $$pkg; done; done; done

.PHONY: loadtest
loadtest: install build ## load and fault scenarios: SCENARIO=steady, or all (a short form of each, ten minutes); .local/bin/loadtest --help lists them
	@$(BIN)/loadtest $(SCENARIO)

# On a stack of its own, and not on the one that somebody may be running here. 75 is the
# verdict of a machine that was too busy for times: said, and not held against the system.
.PHONY: ci-load
ci-load: install build ## a minute of edits under load and one of outages, with a verdict
	@LINKSTREAM_LOAD_STACK=$(ROOT)/.local/none LINKSTREAM_LOAD_RESULTS=$(ROOT)/.local/results LINKSTREAM_LOAD_NOISY=true \
	$(BIN)/loadtest mutate=45s outage-all=8s || { rc=$$?; [ $$rc = 75 ] || exit $$rc; echo "ci-load: this machine was too busy to judge all times; nothing else is broken"; }

.PHONY: fmt
fmt: $(GOLANGCI) ## gofumpt and goimports; Biome for the web app
	@for m in $(MODULES); do (cd $$m && $(GOLANGCI) fmt --config $(ROOT)/.golangci.yml ./...); done
	@if [ -d $(WEB)/node_modules ]; then cd $(WEB) && npm run --silent format; fi

.PHONY: lint
lint: $(GOLANGCI) $(BUF) $(REDOCLY) test-rules ## golangci-lint in every module, buf and redocly for the schemas, promtool for the alerts
	@fail=0; for m in $(MODULES); do echo "linting $$m"; (cd $$m && $(GOLANGCI) run --config $(ROOT)/.golangci.yml ./...) || fail=1; done; exit $$fail
	@cd schemas && $(BUF) lint
	@cd schemas && REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true $(REDOCLY) lint --config redocly.yaml openapi.json

.PHONY: test-rules
test-rules: ## Prometheus' own tests of the recording and alerting rules
	@if ! $(MAKE) --no-print-directory $(PROMTOOL); then echo "promtool cannot be had here: the alerts are not tested"; exit 0; fi; \
	for f in compose/prometheus/*.yml; do $(PROMTOOL) check config --syntax-only $$f >/dev/null; done; \
	$(PROMTOOL) check rules compose/prometheus/rules/*.yml >/dev/null; \
	$(PROMTOOL) test rules compose/prometheus/tests/*.yml

.PHONY: image-sizes
image-sizes: web ## what each container image would hold; fails above 30 MB
	@./compose/image-sizes.sh

.PHONY: generate
generate: $(BUF) $(OAPI_CODEGEN) bin/protoc-gen-go bin/protoc-gen-connect-go ## generated code: protobuf, OpenAPI and its Go client
	@cd schemas && $(BUF) generate
	@# what is registered: the same schemas as proto3, which means the same and every registry can read
	@for m in link_changed click; do sed -e 's/^edition = "2023";/syntax = "proto3";/' -e '/^option features.field_presence = IMPLICIT;$$/d' schemas/linkstream/events/v1/$$m.proto > migrations/registry/$$m.proto; done
	@mkdir -p $(BIN)
	@go run ./services/links/cmd/links openapi > $(BIN)/links.openapi.json
	@go run ./services/analytics/cmd/analytics openapi > $(BIN)/analytics.openapi.json
	@go run ./services/webhooks/cmd/webhooks openapi > $(BIN)/webhooks.openapi.json
	@go run ./services/dashboard/cmd/dashboard openapi-merge $(BIN)/links.openapi.json $(BIN)/analytics.openapi.json $(BIN)/webhooks.openapi.json > $(BIN)/openapi.json
	@mv $(BIN)/openapi.json schemas/openapi.json
	@$(OAPI_CODEGEN) -config schemas/oapi-codegen.yaml schemas/openapi.json
	@# the web app's types; its tests notice when they are old
	@if [ -d $(WEB)/node_modules/openapi-typescript ]; then cd $(WEB) && npm run --silent generate >/dev/null; fi
	@go run ./compose/local/cmd/grafana compose/grafana/dashboards

# What the schemas and migrations are compared with: what has landed on the main
# branch or, where this is it, the commit before.
LANDED := $(shell git rev-parse -q --verify origin/main || git rev-parse -q --verify main)
BASE   := $(shell if [ "$(LANDED)" = "$$(git rev-parse HEAD)" ]; then git rev-parse -q --verify HEAD~1 || echo HEAD; else echo "$(LANDED)"; fi)

.PHONY: verify
verify: generate ## generated code, go.mod and go.work are current, modules build alone, schemas do not break
	@git diff --exit-code -- schemas/openapi.json migrations/registry compose/grafana/dashboards '*.pb.go' '*.connect.go' '*.gen.go' || { echo "generated code is not current: run make generate and commit" >&2; exit 1; }
	@for m in $(MODULES); do (cd $$m && GOWORK=off go mod tidy -diff && GOWORK=off go build ./...) || { echo "$$m does not stand alone: run go mod tidy in it" >&2; exit 1; }; done
	@if git cat-file -e $(BASE):schemas/buf.yaml 2>/dev/null; then cd schemas && $(BUF) breaking --against "../.git#ref=$(BASE),subdir=schemas"; fi
	@changed=$$(git diff --name-only --diff-filter=MD $(BASE) -- 'migrations/*.sql'); if [ -n "$$changed" ]; then echo "landed migrations changed: $$changed" >&2; exit 1; fi

.PHONY: vuln
vuln: ## known vulnerabilities in what is really called (asks vuln.go.dev), or a clear word that it cannot be asked
	@if ! curl -fsS --max-time 20 -o /dev/null https://vuln.go.dev/index/db.json 2>/dev/null; then \
	  echo "vuln.go.dev cannot be reached from here: vulnerabilities are not looked for"; exit 0; fi; \
	for m in $(MODULES); do echo "looking for vulnerabilities in $$m"; (cd $$m && GOWORK=off go run golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION) ./...); done

.PHONY: hooks
hooks: ## use the repository's git hooks
	@git config core.hooksPath .githooks

.PHONY: ci
ci: lint verify vuln test test-openapi ## what .ci/run calls, but for the images' sizes

$(BUF):
	@echo "installing buf $(BUF_VERSION)"
	@npm install --prefix bin/buf-$(BUF_VERSION) --no-audit --no-fund --loglevel=error @bufbuild/buf@$(BUF_VERSION) >/dev/null

$(GOLANGCI):
	@echo "building golangci-lint $(GOLANGCI_LINT_VERSION)"
	@GOWORK=off GOBIN=$(ROOT)/bin/.install GOFLAGS= go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	@mv bin/.install/golangci-lint $@

# Unpacked and not installed: Debian's package would start a Prometheus.
$(PROMTOOL):
	@mkdir -p bin
	@if command -v promtool >/dev/null; then ln -sf "$$(command -v promtool)" $@; exit 0; fi; \
	command -v apt-get >/dev/null || { echo "promtool is missing: brew install prometheus" >&2; exit 1; }; \
	echo "fetching promtool"; cd $$(mktemp -d); \
	apt-get download prometheus >/dev/null 2>&1 || { $$([ "$$(id -u)" = 0 ] || echo sudo) apt-get update >/dev/null 2>&1; apt-get download prometheus >/dev/null; }; \
	dpkg-deb -x prometheus_*.deb . && cp usr/bin/promtool $@

$(OAPI_CODEGEN):
	@echo "building oapi-codegen $(OAPI_CODEGEN_VERSION)"
	@GOWORK=off GOBIN=$(ROOT)/bin/.install GOFLAGS= go install github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@$(OAPI_CODEGEN_VERSION)
	@mv bin/.install/oapi-codegen $@

$(REDOCLY):
	@echo "installing redocly $(REDOCLY_VERSION)"
	@npm install --prefix bin/redocly-$(REDOCLY_VERSION) --no-audit --no-fund --loglevel=error @redocly/cli@$(REDOCLY_VERSION) >/dev/null

$(REDOC)/bundles/redoc.standalone.js:
	@command -v npm >/dev/null || { echo "npm is missing: install Node.js 20.19 or newer" >&2; exit 1; }
	@echo "fetching redoc $(REDOC_VERSION)"
	@mkdir -p $(REDOC)
	@cd $(REDOC) && npm pack --silent redoc@$(REDOC_VERSION) >/dev/null && tar xzf redoc-$(REDOC_VERSION).tgz --strip-components=1 package/bundles package/LICENSE && rm redoc-$(REDOC_VERSION).tgz
	@[ "$$(node -p 'crypto.createHash("sha256").update(fs.readFileSync("$@")).digest("hex")')" = $(REDOC_SHA256) ] || { rm -f $@; echo "redoc $(REDOC_VERSION) is not what it was" >&2; exit 1; }
	@touch $@

$(PROTOBUFJS):
	@echo "installing protobufjs $(PROTOBUFJS_VERSION)"
	@npm install --prefix bin/protobufjs-$(PROTOBUFJS_VERSION) --no-audit --no-fund --loglevel=error protobufjs@$(PROTOBUFJS_VERSION) >/dev/null

$(dir $(ASYNCAPI_SCHEMA)):
	@echo "fetching the AsyncAPI schema $(ASYNCAPI_SPECS_VERSION)"
	@mkdir -p bin/.install
	@cd bin/.install && npm pack --silent @asyncapi/specs@$(ASYNCAPI_SPECS_VERSION) >/dev/null
	@cd bin/.install && [ "$$(openssl dgst -sha256 -r asyncapi-specs-$(ASYNCAPI_SPECS_VERSION).tgz | cut -d' ' -f1)" = $(ASYNCAPI_SPECS_SHA256) ] || { rm -f asyncapi-specs-*.tgz; echo "@asyncapi/specs $(ASYNCAPI_SPECS_VERSION) is not what it was" >&2; exit 1; }
	@mkdir -p $(ROOT)/bin/asyncapi-specs-$(ASYNCAPI_SPECS_VERSION)
	@cd bin/asyncapi-specs-$(ASYNCAPI_SPECS_VERSION) && tar xzf $(ROOT)/bin/.install/asyncapi-specs-$(ASYNCAPI_SPECS_VERSION).tgz --strip-components=1 'package/schemas/3.0.0-without-$$id.json' package/LICENSE && rm $(ROOT)/bin/.install/asyncapi-specs-$(ASYNCAPI_SPECS_VERSION).tgz

$(SCHEMATHESIS):
	@command -v python3 >/dev/null || { echo "python3 is missing" >&2; exit 1; }
	@echo "installing schemathesis $(SCHEMATHESIS_VERSION)"
	@python3 -m venv bin/schemathesis-$(SCHEMATHESIS_VERSION) && bin/schemathesis-$(SCHEMATHESIS_VERSION)/bin/pip install --quiet --disable-pip-version-check schemathesis==$(SCHEMATHESIS_VERSION)

bin/protoc-gen-go:
	@GOWORK=off GOBIN=$(ROOT)/bin go install google.golang.org/protobuf/cmd/protoc-gen-go@$(PROTOC_GEN_GO_VERSION)

bin/protoc-gen-connect-go:
	@GOWORK=off GOBIN=$(ROOT)/bin go install connectrpc.com/connect/v2/cmd/protoc-gen-connect-go@$(PROTOC_GEN_CONNECT_VERSION)
