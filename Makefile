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
# Two processes, as Spark's tests use more cores than one anyway; a file's tests stay together.
PYTEST := $(BIN)/pytest --numprocesses 2 --dist loadfile
export PYO3_PYTHON := $(abspath $(BIN)/python)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

CRATES := $(shell find rust -name '*.rs' -not -path '*/tests/*' -not -path '*/examples/*' -not -path '*/benches/*') \
	$(wildcard rust/*/Cargo.toml) Cargo.toml Cargo.lock

# The fast suite draws the same cases each time; `test-long` draws new ones.
test test-rust test-python test-spark: export PROPTEST_RNG_SEED := 1
test test-rust test-python test-spark: export PYTHONHASHSEED := 1

.PHONY: demo demo-spark test test-rust test-python test-spark test-long bench lint docs site wheel wheel-test setup clean

demo: $(VENV)/native-dev  ## the TPC-H stream with deletes, its views fresh after every batch, against computing them anew
	$(BIN)/ringview run --compare examples/tpch_stream/job.toml

demo-spark: $(VENV)/native-dev $(VENV)/spark  ## TPC-H as a stream of Spark, with a restart; needs Java 17
	$(BIN)/python examples/spark_stream/tpch.py

test: test-rust test-python test-spark  ## everything that must hold before a change lands

test-rust: $(VENV)/bin/python
	cargo test --workspace --no-fail-fast

test-python: $(VENV)/native-dev $(VENV)/development
	$(BIN)/stubtest ringview._native
	$(PYTEST) -m "not long and not spark" --doctest-modules tests python/ringview

test-spark: $(VENV)/native-dev $(VENV)/development
	$(PYTEST) -m "spark and not long" tests

test-long: $(VENV)/native-dev $(VENV)/development  ## minutes to hours: more random cases, whole streams
	PROPTEST_CASES=20000 cargo test --workspace -- --include-ignored
	HYPOTHESIS_PROFILE=random $(BIN)/pytest -m long tests

bench: $(VENV)/native-release $(VENV)/development  ## BENCH="--quick" for a smoke test, BENCH="--only joins" for a part
	cargo build --release -p ringview-benches
	cargo build --release -p ringview-sampling --example graph_joins
	$(BIN)/python benches/run.py $(BENCH)

lint: $(VENV)/development
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/development  ## the crates' pages in target/doc, and the tables of docs/benchmarks.md
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items
	$(BIN)/python benches/run.py --render

site: $(VENV)/docs  ## the pages of docs/ in target/site; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

wheel: $(VENV)/base
	$(BIN)/maturin build --release --out dist

wheel-test: wheel  ## the wheel in an empty environment, with only what it declares
	rm -rf $(VENV)/wheel-test && $(PYTHON) -m venv $(VENV)/wheel-test
	$(VENV)/wheel-test/bin/pip install --quiet --find-links dist --pre --no-cache-dir "$$(ls -t dist/*.whl | head -1)"
	cd $(VENV)/wheel-test && bin/python $(CURDIR)/.ci/wheel_test.py

setup: $(VENV)/native-dev $(VENV)/development

clean:
	rm -rf $(VENV) target dist python/ringview/_native*.so .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ringview needs Python 3.11 or later: set PYTHON=")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/base: pyproject.toml .ci/requirements.py | $(VENV)/bin/python
	$(BIN)/python .ci/requirements.py build cli serve | $(BIN)/pip install --quiet -r /dev/stdin
	touch $@

$(VENV)/development: pyproject.toml .ci/requirements.py | $(VENV)/bin/python
	$(BIN)/python .ci/requirements.py cli ml plot test spark | $(BIN)/pip install --quiet -r /dev/stdin
	touch $@

# It reads the sources, so it needs no extension.
$(VENV)/docs: pyproject.toml .ci/requirements.py | $(VENV)/bin/python
	$(BIN)/python .ci/requirements.py docs | $(BIN)/pip install --quiet -r /dev/stdin
	touch $@

$(VENV)/spark: pyproject.toml .ci/requirements.py | $(VENV)/bin/python
	$(BIN)/python .ci/requirements.py spark | $(BIN)/pip install --quiet -r /dev/stdin
	touch $@

$(VENV)/native-%: $(CRATES) $(VENV)/base
	rm -f $(VENV)/native-*
	$(BIN)/maturin develop --profile $* > /dev/null
	touch $@
