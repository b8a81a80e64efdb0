# make test is what CI runs; everything it needs comes from go.mod.
.PHONY: test test-alone test-sharing golden-all build module bench fuzz golden licenses simulate echarts engines benchmarks module-check

# Their goroutines share memory: they are tested under the race detector. The others compute, simulate, or start
# programs, which would take ten times as long.
SHARING = ./experiment/endpoint ./experiment/load ./experiment/mock ./experiment/openai ./live/proxy \
	./experiment/server ./experiment/collect ./report/parallel ./sweep/live ./sweep/workers

# They take longest, and begin first.
LONG = ./cmd/bench ./internal/golden ./sweep/predict

# Two halves run beside each other, each three packages at a time: many wait for servers and processes most of their time.
# What they compile differs, but for staticcheck, which comes last. All collect garbage less often, which takes a quarter of
# their time. staticcheck does not read the tests, which vet reads: half of its time.
test: export GOGC = 400
test:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not gofmt-ed:"; echo "$$unformatted"; exit 1; fi
	@$(MAKE) --no-print-directory -j2 test-alone test-sharing
test-alone:
	go vet ./...
	go test -vet=off -p 3 -timeout 20m $(LONG) $$(go list ./... | grep -vxF "$$(go list $(SHARING) $(LONG))")
test-sharing:
	go test -vet=off -p 3 -race -short -timeout 20m $(SHARING)
	go tool staticcheck -tests=false ./...

# The commit that bench version prints; empty in a tree without git, also below another repository.
COMMIT = $(shell git ls-files --error-unmatch go.mod >/dev/null 2>&1 && git describe --always --exclude='*' --abbrev=12 --dirty=+changes)

build:
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w -X main.stamp=$(COMMIT)' -o bench ./cmd/bench
	@size=$$(wc -c <bench); if [ $$size -gt 28900000 ]; then echo "bench has $$size bytes, more than 28.9 MB (docs/inside.md)"; exit 1; fi

# Move the module to a path with a host, for go install: make module MODULE=example.com/acme/bench (docs/inside.md).
module:
	deploy/module $(MODULE)

# Does the module still move, and back? In a copy of the last commit.
module-check:
	d=$$(mktemp -d) && git archive HEAD | tar x -C $$d && cp -r $$d $$d.was && cd $$d && \
	  deploy/module example.com/acme/bench && go vet ./... && go -C benchmarks vet ./... && \
	  deploy/module bench && diff -r $$d.was $$d

# Go benchmarks of the hot path; compare two runs with benchstat, and only from one machine.
bench:
	go test -run '^$$' -bench . -benchmem ./experiment/...

# The programs behind the figures of docs/, a module of its own: does it still build, and are its own tests green?
benchmarks:
	go -C benchmarks vet ./...
	go -C benchmarks test -short ./...

# Half a minute on every fuzz target. Without the bound it would go into making the first interesting input shorter.
fuzz:
	@for pkg in $$(go list ./...); do \
	  for f in $$(go test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
	    echo "$$pkg $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime 30s -fuzzminimizetime 10x $$pkg || exit 1; \
	  done; \
	done

# What the binary writes for stored runs and for matrices in virtual time, compared with the stored files to the byte.
# After a change that is meant: go test ./internal/golden -all -update, and read the diff.
golden-all:
	go test ./internal/golden -all

# Write the golden files anew; read the diff before committing it.
golden:
	go test ./docs ./docs/schema ./report ./report/page ./report/export ./sweep/matrix ./sweep/strict ./sweep/live ./experiment/diagnosis ./experiment/selftest -update

# Write the licenses that bench version --licenses prints, from the module cache.
licenses:
	go test ./cmd/bench -run '^TestLicenses$$' -update

# The simulations behind benchmarks/statistics.md and benchmarks/nights/README.md, whole: some hours. The verdicts' table goes to
# experiment/stats/testdata/verdicts.csv.
simulate:
	go test -timeout 3h -run 'VerdictsOfProcesses|LooksErr|NeedIsTrue|RegionHolds' -v ./experiment/stats -simulate -seed 3
	BENCH_LONG=1 go test -timeout 1h -run 'TestSimulation|SameProcess|SlowdownIsFound|UnsteadyRegression' -v \
		./experiment/stats ./experiment/series ./report/compare ./report/shadow
	go -C benchmarks run ./nights -seeds 20 -setting all,one,twice,noise # the table of benchmarks/nights/README.md
	go -C benchmarks run ./gate
	go -C benchmarks run ./predictions # the tables of benchmarks/predictions/README.md

# Bundle the chart types that the page uses, from the packages of npm (needs network and Node).
echarts:
	d=$$(mktemp -d) && cp report/page/assets/echarts.entry.js $$d && cd $$d && npm install --no-audit --no-fund echarts@5.6.0 esbuild@0.28.2 && \
	  npx esbuild echarts.entry.js --bundle --minify --format=iife --global-name=echarts --target=es2020 --outfile=echarts.min.js && \
	  gzip -9nc echarts.min.js >$(CURDIR)/report/page/assets/echarts.min.js.gz

# A real engine on this machine, without a GPU: bench's counts beside the engine's own (benchmarks/engines/README.md).
ENGINE ?= llama
engines: build
	benchmarks/engines/install $(ENGINE)
	benchmarks/engines/run $(ENGINE) --bench ./bench
