# make test   the tests, those with real components included
# make check  what has to pass before a change goes in: form, lint, generated files, make test
# make update everything that is generated or golden, anew; read the diff
# make fuzz   every fuzz target, FUZZTIME=5m each; findings become seeds
# make soak   whatever is long: tests with TRAINMEDIC_SOAK=1, then make fuzz
# make accuracy  how right it is over all runs with a known truth, into docs/ACCURACY.md
# make bench  speed and memory against other programs, into bench/RESULTS.md; bench/README.md says how long it takes

cache := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/trainmedic
lint := $(cache)/bin/golangci-lint-v2.15.0

.PHONY: build test check form lint fresh inspector update fuzz soak accuracy bench

build:
	go build -o trainmedic ./cmd/trainmedic

test:
	go test -race ./...
	go test ./internal/monitor -run 'HealthyRuns' # all of them: the race detector sees a few
	test/inspector.sh

check: form lint fresh test

form:
	@bad=$$(gofmt -l bench cmd internal tools schemas references); \
	if [ -n "$$bad" ]; then echo "gofmt -w these:"; echo "$$bad"; exit 1; fi
	go vet ./...

lint: $(lint)
	$(lint) run ./...

$(lint):
	mkdir -p $(cache)/bin
	GOBIN=$(cache)/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
	mv $(cache)/bin/golangci-lint $(lint)

fresh:
	go mod tidy -diff
	go test ./schemas ./tools ./internal/failure/all -run 'Fresh|AsRecorded|Packed'

update:
	go test ./schemas -update
	go test ./internal/failure/all ./internal/report ./internal/logformat ./tools ./references ./bench/cmd/bench ./bench/cmd/corpus -update

fuzz:
	test/fuzz.sh

soak:
	TRAINMEDIC_SOAK=1 go test -count=1 -timeout 4h ./...
	test/fuzz.sh

accuracy: build
	go run ./bench/cmd/corpus accuracy docs

bench:
	go run ./bench/cmd/bench
