# The commands of the project. Needs Rust, Python >= 3.11 and, for Spark, Java 17; everything else goes into .venv.
#
# Stamps in .venv say what is installed, so a second run does only what changed. The extension that Python imports is
# of one profile at a time: `dev` (every check on, shared with the tests in Rust) for tests and demos, so that a fresh
# machine compiles the dependencies once; `release` for the benches.

SHELL := bash
.SHELLFLAGS := -o pipefail -ec
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Python compiles what it imports, and most files of the libraries are never imported.
PIP := $(BIN)/pip install --quiet --no-compile
# Two processes, as Spark's tests use more cores than one anyway; a file's tests stay together, Spark's come last.
PYTEST := $(BIN)/pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder
export PYO3_PYTHON := $(abspath $(BIN)/python)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

CRATES := $(shell find rust -name '*.rs' -not -path '*/tests/*' -not -path '*/examples/*' -not -path '*/benches/*') \
	$(wildcard rust/*/Cargo.toml) Cargo.toml Cargo.lock

# The fast suite draws the same cases each time, and few; `test-long` draws new ones.
test test-rust: export PROPTEST_RNG_SEED := 1
test test-rust: export PROPTEST_CASES := 64
test test-both test-python test-spark: export PYTHONHASHSEED := 1

# A check compiles each crate once, for clippy, the tests and the extension alike, and without what only a debugger or a
# next build would use.
check check-rust dev-wheel: export RUSTC_WORKSPACE_WRAPPER := clippy-driver
check check-rust dev-wheel: export RUSTFLAGS := -D warnings
check check-rust dev-wheel: export CARGO_INCREMENTAL := 0
check check-rust dev-wheel: export CARGO_PROFILE_DEV_DEBUG := false

# The version that the crates declare, which is the oldest that builds them.
RUST := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

# With BUILT there is nothing to build.
CHECKED := $(if $(BUILT),,rust)

.PHONY: demo demo-spark test test-rust test-both test-python test-spark test-long check check-rust bench lint lint-text \
	docs site wheel wheel-test dev-wheel setup clean rust

demo: $(CHECKED) $(VENV)/native-dev  ## the TPC-H stream with deletes, its views fresh after every batch, against computing them anew
	$(BIN)/ringview run --compare examples/tpch_stream/job.toml

# First of all: without it, or with an older one, cargo fails after all else is installed.
rust:
	@sh .ci/rust_version.sh $(RUST)

demo-spark: $(CHECKED) $(VENV)/native-dev $(VENV)/spark  ## TPC-H as a stream of Spark, with a restart; needs Java 17
	$(BIN)/python examples/spark_stream/tpch.py

test: test-rust test-both  ## everything that must hold before a change lands

test-rust: $(CHECKED) $(VENV)/bin/python
	cargo test --workspace --no-fail-fast

# In one run, so that the tests are collected once and both processes are busy to the end.
test-both: $(CHECKED) $(VENV)/native-dev $(VENV)/development
	$(BIN)/stubtest ringview._native
	$(PYTEST) -m "not long" --doctest-modules tests python/ringview

test-python: $(CHECKED) $(VENV)/native-dev $(VENV)/development
	$(BIN)/stubtest ringview._native
	$(PYTEST) -m "not long and not spark" --doctest-modules tests python/ringview

test-spark: $(CHECKED) $(VENV)/native-dev $(VENV)/development
	$(PYTEST) -m "spark and not long" tests

test-long: $(CHECKED) $(VENV)/native-dev $(VENV)/development  ## hours: new random cases and more of them, every seed, whole streams
	PROPTEST_CASES=5000 cargo test --workspace -- --include-ignored
	HYPOTHESIS_PROFILE=random $(PYTEST) tests

check: $(CHECKED) $(VENV)/bin/python  ## the linters and `test`, each crate compiled once
	$(MAKE) --jobs 2 lint-text check-rust
	$(MAKE) test-both

check-rust: $(CHECKED) $(VENV)/bin/python
	cargo fmt --all --check
	cargo build --workspace --all-targets
	$(MAKE) test-rust

bench: $(CHECKED) $(VENV)/native-release $(VENV)/development  ## BENCH="--quick" for a smoke test, BENCH="--only joins" for a part
	cargo build --release -p ringview-benches
	cargo build --release -p ringview-sampling --example graph_joins
	$(BIN)/python benches/run.py $(BENCH)

lint: lint-text
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

lint-text: $(VENV)/development
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/development  ## the crates' pages in target/doc, and the tables of docs/benchmarks.md
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items
	$(BIN)/python benches/run.py --render

site: $(VENV)/docs  ## the pages of docs/ in target/site; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

wheel: $(CHECKED) $(VENV)/base
	$(BIN)/maturin build --release --out dist

dev-wheel: $(CHECKED) $(VENV)/base  ## the extension under test, for other Pythons of this system: BUILT=dist there
	$(BIN)/maturin build --profile dev --out dist

wheel-test: wheel  ## the wheel in an empty environment, with only what it declares
	rm -rf $(VENV)/wheel-test && $(PYTHON) -m venv $(VENV)/wheel-test
	$(VENV)/wheel-test/bin/pip install --quiet --find-links dist --pre --no-cache-dir "$$(ls -t dist/*.whl | head -1)"
	cd $(VENV)/wheel-test && bin/python $(CURDIR)/.ci/wheel_test.py

setup: $(CHECKED) $(VENV)/native-dev $(VENV)/development

clean:
	rm -rf $(VENV) target dist python/ringview/_native*.so .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ringview needs Python 3.11 or later: set PYTHON=")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/base: pyproject.toml .ci/requirements.py | $(VENV)/bin/python
	$(BIN)/python .ci/requirements.py build cli serve | $(PIP) -r /dev/stdin
	touch $@

$(VENV)/development: pyproject.toml .ci/requirements.py $(VENV)/base | $(VENV)/bin/python
	$(BIN)/python .ci/requirements.py cli ml plot test spark | $(PIP) -r /dev/stdin
	touch $@

# It reads the sources, so it needs no extension.
$(VENV)/docs: pyproject.toml .ci/requirements.py | $(VENV)/bin/python
	$(BIN)/python .ci/requirements.py docs | $(PIP) -r /dev/stdin
	touch $@

$(VENV)/spark: pyproject.toml .ci/requirements.py | $(VENV)/bin/python
	$(BIN)/python .ci/requirements.py spark | $(PIP) -r /dev/stdin
	touch $@

# With BUILT, the extension is of the wheel in that folder, and no Rust is needed.
ifdef BUILT
export PYTHONPATH := $(abspath python)
$(VENV)/native-dev: $(wildcard $(BUILT)/*.whl) $(VENV)/base
	$(PIP) --no-deps --force-reinstall $(BUILT)/*.whl
	cp $(VENV)/lib/python*/site-packages/ringview/_native* python/ringview
	touch $@
endif

$(VENV)/native-%: $(CRATES) $(VENV)/base
	rm -f $(VENV)/native-*
	$(BIN)/maturin develop --profile $* > /dev/null
	touch $@
