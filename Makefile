# make test   the tests, those with real components included
# make check  what has to pass before a change goes in: form, lint, generated files, make test
# make update everything that is generated or golden, anew; read the diff
# make build-all the program for all six platforms, static, into dist/
# make fuzz   every fuzz target, FUZZTIME=5m each; findings become seeds
# make soak   whatever is long: tests with TRAINMEDIC_SOAK=1, vuln, reproducible, fuzz
# make release  the program as it is published: the same bytes wherever it is built
# make reproducible  two such builds, one hash
# make sbom     sbom.cdx.json: what is in ./trainmedic
# make licenses docs/LICENSES.md
# make vuln     known vulnerabilities, where their database can be reached
# make accuracy  how right it is over all runs with a known truth, into docs/ACCURACY.md
# make bench  speed and memory against other programs, into bench/RESULTS.md; bench/README.md says how long it takes

cache := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/trainmedic
lint := $(cache)/bin/golangci-lint-v2.15.0

platforms := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

.PHONY: build build-all test check form lint fresh inspector update fuzz soak release reproducible sbom licenses vuln accuracy bench

build:
	go build -o trainmedic ./cmd/trainmedic

build-all:
	@for p in $(platforms); do \
		os=$${p%/*}; arch=$${p#*/}; exe=; [ $$os != windows ] || exe=.exe; \
		echo "$$p"; \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch go build -trimpath -ldflags='-s -w' -o dist/trainmedic_$${os}_$$arch/trainmedic$$exe ./cmd/trainmedic || exit 1; \
	done

test:
	go test -race ./...
	go test ./internal/monitor -run 'HealthyRuns|ADayLeaks' # all of them: the race detector sees a few
	go test ./test/hostile
	test/inspector.sh
	test/conformance.sh
	test/sdk.sh

check: form lint fresh test

form:
	@bad=$$(gofmt -l bench cmd internal packaging tools schemas references test); \
	if [ -n "$$bad" ]; then echo "gofmt -w these:"; echo "$$bad"; exit 1; fi
	go vet ./...
	cd test/gosdk && go vet ./...

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
	go test ./internal/failure/all ./internal/report ./internal/logformat ./tools ./references ./packaging ./bench/cmd/bench ./bench/cmd/corpus -update

fuzz:
	test/fuzz.sh

soak:
	TRAINMEDIC_SOAK=1 go test -count=1 -timeout 4h ./...
	test/vuln.sh
	test/reproducible.sh
	test/fuzz.sh

release:
	go build -trimpath -ldflags=-buildid= -o trainmedic ./cmd/trainmedic

reproducible:
	test/reproducible.sh

sbom: release
	go run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0 bin -json -std -noserial -notimestamp -output sbom.cdx.json trainmedic

licenses:
	test/licenses.sh

vuln:
	test/vuln.sh

accuracy: build
	go run ./bench/cmd/corpus accuracy docs

bench:
	go run ./bench/cmd/bench
