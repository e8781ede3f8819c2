# ackclock: `make run` shows a result, `make test` checks everything. `make help` lists the rest.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TARGET ?= $(or $(CARGO_TARGET_DIR),target)
# Cargo and maturin build the bindings alike, so that neither throws away what the other has compiled.
export PYO3_BUILD_EXTENSION_MODULE := 1
export CARGO_TARGET_DIR := $(abspath $(TARGET))

RUST := $(shell find crates -name '*.rs' -o -name Cargo.toml)
SOURCES := pyproject.toml Cargo.toml Cargo.lock $(RUST)

.PHONY: page test-page site attack help setup run check lint types mypy stubs unit test test-adapters ci coverage fuzz bench bench-instructions bench-peers growth papers papers-mutation agreement conform published reports validate-ns2 validate-linux docs reference wheel clean rust-tools

help: ## list these targets
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1	/p' Makefile | expand -t 12

setup: $(VENV)/.ready ## create .venv with the package built in it (does nothing when up to date)

$(VENV)/.ready: $(SOURCES)
	@command -v cargo >/dev/null || { echo "ackclock needs Rust 1.88 or later: https://rustup.rs or your distribution's cargo"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "ackclock needs Python 3.11 or later; choose one by: make PYTHON=python3.12 ..."; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	test -x $(BIN)/maturin || $(BIN)/python -m pip install --quiet --upgrade pip 'maturin>=1.9.4,<2'
	VIRTUAL_ENV=$(abspath $(VENV)) $(BIN)/maturin develop --release --extras dev
	@$(BIN)/python -m compileall -q python/ackclock  # an editable install leaves that to the first import
	@touch $@

run: setup ## run Compound over RED at round trips of 10 and 200 ms: summary here, report in out/report.html
	@mkdir -p out
	$(BIN)/ackclock run scenarios/compound-red.toml scenarios/compound-red-200ms.toml --report out/report.html
	$(BIN)/ackclock why --rate 50mbit --rtt 40ms --buffer 250ms

rust-tools:
	@cargo fmt --version >/dev/null 2>&1 || { echo "rustfmt is missing: rustup component add rustfmt"; exit 1; }
	@cargo clippy --version >/dev/null 2>&1 || { echo "clippy is missing: rustup component add clippy"; exit 1; }

lint: setup rust-tools ## formatting, lints and types of Rust and Python
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets --quiet -- -D warnings
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check .
	$(MAKE) --no-print-directory types  # one by one: both write mypy's cache

SCRIPTS := benches docs/algorithms docs/examples docs/extension validation $(addprefix validation/,agreement causes charts cluster l4s linux ns2 packetdrill published reports)
MORE_SCRIPTS := benches/peers docs/standards validation/stacks
TYPED = MYPYPATH=validation/agreement:validation/l4s:validation/linux:tests:docs/algorithms $(BIN)/mypy --no-error-summary

types: mypy stubs ## types of Python: package and scripts, and the core against its stubs

mypy: setup  # apart where modules have the same name
	@$(TYPED) python/ackclock $(wildcard $(addsuffix /*.py,$(SCRIPTS)))
	@$(TYPED) $(wildcard $(addsuffix /*.py,$(MORE_SCRIPTS)))
	@$(TYPED) validation/laws/*.py

stubs: setup
	$(BIN)/python -m mypy.stubtest ackclock._core

check: lint ## lints, types and the quick tests: two minutes once everything is built
	cargo test --release --quiet -p ackclock-algorithms -p ackclock-scenario
	$(BIN)/python -m pytest -q $(QUICK)

QUICK := $(addprefix tests/test_,analysis.py cli_help.py cli_words.py plot.py reference.py result.py scenario.py)

unit: setup ## Rust tests and Python tests (these on all processors; `python -m pytest FILE` runs them one by one)
	cargo test --release --workspace --exclude ackclock-speed --quiet
	$(BIN)/python -m pytest --numprocesses logical --dist loadfile

test: lint unit ## everything: lints, types, Rust tests, Python tests

HOURS ?= 1
attack: setup ## attack the engines with random scenarios for HOURS=1, two processes; resumes; finds in out/attack/finds
	@$(BIN)/python tests/attack/attack_many.py run --hours $(HOURS) --share 0.1; \
	$(BIN)/python tests/attack/attack_many.py both --hours $(HOURS) --share 0.1; found=$$?; \
	$(BIN)/python tests/attack/attack_many.py pairs --hours $(HOURS) --share 0.1 || found=1; \
	$(BIN)/python tests/attack/attack.py --hours $(HOURS) --share 0.7 && exit $$found

bench: ## benchmarks of the crates that have them
	cargo bench --workspace

papers: setup ## reproduce the published results: pages in out/papers, verdicts and figures in papers/ (resumes where it stopped)
	$(BIN)/ackclock paper all --write

papers-mutation: setup ## set-ups of papers made wrong on purpose, in short runs: what fails must be ours
	$(BIN)/python tests/test_papers_mutations.py

agreement: setup ## compare the packet engine with ns-2 and Linux, ten seeds each, and write validation/agreement/README.md
	$(BIN)/python validation/agreement/compare.py --write

conform: setup ## play packetdrill's scripts to the sender in style "linux": PACKETDRILL=a clone, folder or script (without: our own)
	$(BIN)/python validation/packetdrill/conform.py $(PACKETDRILL)

published: setup ## play what others measured on testbeds, cell by cell, and write validation/published/README.md with its figures (resumes; some minutes)
	$(BIN)/python validation/published/published.py

test-adapters: ## stacks of others at the ends of flows: quinn, noq, smoltcp, s2n-quic (their crates come from the registry; Rust 1.95)
	cd adapters && RUSTFLAGS='$(RUSTFLAGS) --cfg getrandom_backend="custom"' CARGO_TARGET_DIR=$(CARGO_TARGET_DIR)/adapters cargo test --release --quiet

bench-instructions: ## instructions per packet of the packet engine, against benches/instructions.json (needs valgrind)
	$(PYTHON) benches/instructions.py

ci: test docs ## what continuous integration runs: tests, documentation, and where their tools are installed instructions per packet and fuzzing
	$(PYTHON) benches/instructions.py --if-possible
	@if command -v c++ >/dev/null; then $(MAKE) --no-print-directory fuzz; else echo "no fuzzing: a C++ compiler is missing"; fi

coverage: setup ## lines that the Python tests reach: out/coverage/index.html (Rust's too, if cargo-llvm-cov is installed)
	$(BIN)/python -m pip install --quiet pytest-cov
	$(BIN)/python -m pytest -q --cov=ackclock --cov-report=term --cov-report=html:out/coverage
	@if cargo llvm-cov --version >/dev/null 2>&1; then cargo llvm-cov --workspace --html --output-dir out/coverage/rust; \
	else echo "Rust is left out: cargo install cargo-llvm-cov"; fi

FUZZED := scenario traces engine
fuzz: ## scenario files, rate traces and runs at random for a minute each, from the committed corpus (needs a C++ compiler; no sanitizers, so stable Rust does)
	cd fuzz && RUSTFLAGS="$(COVERED)" CARGO_TARGET_DIR=$(CARGO_TARGET_DIR)/fuzz cargo build --release --quiet --target $(HOST)
	@set -e; for target in $(FUZZED); do \
		mkdir -p out/fuzz/$$target; \
		corpus=fuzz/corpus/$$target; test -d $$corpus || corpus=fuzz/corpus/scenario; \
		$(CARGO_TARGET_DIR)/fuzz/$(HOST)/release/$$target -max_total_time=$(or $(SECONDS_OF_FUZZ),60) -max_len=8192 \
			-dict=fuzz/scenario.dict -artifact_prefix=out/fuzz/ -print_final_stats=1 out/fuzz/$$target $$corpus; \
	done

HOST = $(shell rustc -vV | sed -n 's/^host: //p')
# what cargo-fuzz gives the compiler for feedback from branches and comparisons
COVERED := --cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1

bench-peers: setup ## the packet engine against ns-2 (Debian package ns2) and ns-3 (its wheel, in build/ns3), on the same set-ups
	test -x build/ns3/bin/python || { $(PYTHON) -m venv build/ns3 && build/ns3/bin/pip install --quiet ns3; }
	NS3_PYTHON=build/ns3/bin/python $(BIN)/python benches/peers/compare.py --write

growth: setup ## how the cost of a packet grows with flows, links, buffer and rate
	$(BIN)/python benches/growth.py --write

docs: setup ## the documentation as HTML, out/docs/index.html; pages made from the code are made, notebooks run; warnings are errors
	$(BIN)/python -c 'import furo, latex2mathml, myst_nb, sphinx_copybutton, ziamath' 2>/dev/null || \
		$(BIN)/python -m pip install --quiet $$($(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"])')
	$(BIN)/python -m sphinx -W --keep-going -q -j 2 $(SPHINX) -d out/$(notdir $(or $(PAGES),out/docs))-trees docs $(or $(PAGES),out/docs)
	@echo "written: $(or $(PAGES),out/docs)/index.html"

reference: setup ## write the pages of docs/algorithms that are made from the registry (not in Git) without building the documentation
	$(BIN)/python docs/algorithms/generate.py

validate-ns2: setup ## compare senders and queues with those of ns-2 (its seed 1 runs again if ns is installed) and write validation/ns2/AGREEMENT.md
	@if command -v ns >/dev/null; then \
		$(BIN)/python validation/ns2/run.py --papers --seeds 1..1 --jobs 2 && $(BIN)/python validation/ns2/run.py --check --jobs 2; \
	else echo "ns is not installed (apt-get install ns2): comparing with the committed results of ns-2 2.35"; fi
	$(BIN)/python validation/ns2/compare_senders.py --write

validate-linux: setup ## run a Linux kernel's own TCP and queues in virtual time beside ours (needs linux-source-6.1; only what is missing) and write docs/validation-linux.md
	$(BIN)/python validation/linux/validate.py --run --write

WASM := $(CARGO_TARGET_DIR)/wasm32-unknown-unknown/wasm/ackclock_web.wasm
PAGE := python/ackclock/present/page_files
PAGE_SOURCES := $(shell find page -path page/node_modules -prune -o -type f -print 2>/dev/null) $(wildcard scenarios/*.toml) python/ackclock/present/text/sentences.json

page: $(PAGE)/index.html ## build the laboratory in a browser tab (needs Node, and Rust's target wasm32-unknown-unknown)

$(PAGE)/index.html: $(WASM) page/node_modules/.package-lock.json $(PAGE_SOURCES)
	cp $(WASM) page/src/engine/ackclock_web.wasm
	cd page && npm run --silent build
	rm -rf $(PAGE) && cp -r out/page $(PAGE)

# as one crate type: beside an rlib cargo links without optimising across crates
$(WASM): $(SOURCES)
	@rustup target list --installed 2>/dev/null | grep -q wasm32-unknown-unknown || rustup target add wasm32-unknown-unknown || \
		{ echo "Rust's target wasm32-unknown-unknown is missing: rustup target add wasm32-unknown-unknown"; exit 1; }
	RUSTFLAGS='-C target-feature=+simd128' cargo rustc --profile wasm --target wasm32-unknown-unknown --package ackclock-web --lib --crate-type cdylib
	@$(BIN)/python -m compileall -q python/ackclock  # an editable install leaves that to the first import
	@touch $@

# `npm ci` refuses a lock that lacks optional packages of other platforms
page/node_modules/.package-lock.json: page/package.json page/package-lock.json
	@command -v npm >/dev/null || { echo "the page needs Node 20.19 or later: https://nodejs.org"; exit 1; }
	cd page && npm install --no-fund --no-audit --loglevel=error
	@$(BIN)/python -m compileall -q python/ackclock  # an editable install leaves that to the first import
	@touch $@

BROWSER ?= $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)
JOBS ?= 1
reports: setup page/node_modules/.package-lock.json ## every report of every scenario, opened in a browser: out/reports (hours; resumes; JOBS= at a time, ONLY=expression, BROWSER=)
	@$(BIN)/python validation/reports/reports.py --jobs $(JOBS) --only '$(ONLY)' --browser '$(BROWSER)'

BITS ?= 200
test-page: page setup ## the page: lints, types, units, the same bits as native, and in a browser where there is one (BROWSER=)
	cd page && npm run --silent lint && npm run --silent unit
	@mkdir -p out/bits
	cargo build --release --quiet --package ackclock-web --example answers
	$(BIN)/python page/test/scenarios.py $(BITS) > out/bits/questions.jsonl
	$(CARGO_TARGET_DIR)/release/examples/answers < out/bits/questions.jsonl > out/bits/answers.jsonl
	cd page && npx vite-node test/bits.ts $(WASM) ../out/bits/questions.jsonl ../out/bits/answers.jsonl
	@if [ -n "$(BROWSER)" ]; then cd page && npx vite-node test/browser.ts $(BROWSER); else echo "no browser: the page was not opened (BROWSER=/usr/bin/chromium)"; fi

site: PAGES := out/site
site: SPHINX := -t site
site: page docs ## one folder of static files for any web server: documentation and laboratory, out/site
	rm -rf out/site/laboratory
	cp -r $(PAGE) out/site/laboratory
	@echo "written: out/site/index.html"

wheel: setup page ## build an installable wheel in dist/, the page included
	$(BIN)/maturin build --release --out dist

clean: ## remove everything that was built
	rm -rf $(VENV) target dist out .mypy_cache .ruff_cache .pytest_cache python/ackclock/_core*.so
