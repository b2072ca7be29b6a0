# make demo        project the Adult data, print the tables, write out/adult/
# make test        run the tests, but for the slow ones
# make test-slow   run the slow ones: processes that are started, killed and interrupted, and whole studies
# make test-laws   run the laws with 16 times as many examples
# make test-all    run all three
# make test-lowest run them with the lowest versions that are declared, in an environment of its own
# make coverage    run the tests with coverage, kernels included
# make dist-check  build a wheel and an sdist, install each elsewhere, run the tests on what was installed
# make lint        run the linters and the type checker
# make docs        build the documentation in out/docs; DOCS=site/1.0 into a folder beside those of other versions
# make bench       run the benchmarks (asv)
# make clean       remove what these commands made
#
# Each target makes the environment that it needs in .venv; nothing has to be installed but Python, make and pip.

PYTHON ?= python3
DOCS ?= out/docs
VENV ?= .venv
PYTEST_ARGS ?= -n 2
BENCH_ARGS ?=
BIN := $(VENV)/bin
COVER = OPENBLAS_NUM_THREADS=1 $(BIN)/python -m coverage
# Tests that run every kernel, on problems so small that plain Python is fast enough.
KERNEL_TESTS := tests/kernels tests/constraints tests/solving/hessian \
  tests/solving/solvers/ipf/test_grouped_sweeps.py tests/solving/solvers/ipf/test_slab_sweeps.py
CONSTRAINTS ?= constraints.txt
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS)
SOURCES := pyproject.toml $(CONSTRAINTS)

.DEFAULT_GOAL := demo
.PHONY: demo test test-slow test-laws test-all test-lowest coverage dist-check lint docs bench clean

demo: $(VENV)/.installed-all
	@$(BIN)/purtensor reproduce adult --out out

test: $(VENV)/.installed-test
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -m "not slow" $(PYTEST_ARGS)

test-slow: $(VENV)/.installed-test
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -m slow $(PYTEST_ARGS)

test-laws: $(VENV)/.installed-test
	@HYPOTHESIS_PROFILE=many OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -m hypothesis $(PYTEST_ARGS) tests/laws

test-all: test test-slow test-laws

# No coverage tool sees compiled code: what the kernels do is measured where they run as plain Python.
coverage: $(VENV)/.installed-test
	rm -rf out/coverage && mkdir -p out/coverage
	@$(COVER) run -m pytest $(PYTEST_ARGS)
	@NUMBA_DISABLE_JIT=1 $(COVER) run -m pytest $(PYTEST_ARGS) $(KERNEL_TESTS)
	@$(BIN)/python -m coverage combine --quiet
	@$(BIN)/python -m coverage report --fail-under=95

dist-check:
	@PYTHON=$(PYTHON) .ci/check-dist $(PYTEST_ARGS)

test-lowest:
	@$(MAKE) --no-print-directory test-all VENV=.venv-lowest CONSTRAINTS=constraints-lowest.txt

lint: $(VENV)/.installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html -d out/doctrees notes $(DOCS)

bench: $(VENV)/.installed-bench
	cd benchmarks && ../$(BIN)/asv machine --yes && ../$(BIN)/asv run --python=same \
	  --set-commit-hash $$(git rev-parse HEAD) --show-stderr $(BENCH_ARGS)

clean:
	rm -rf $(VENV) .venv-lowest out .pytest_cache .mypy_cache .ruff_cache .hypothesis benchmarks/.asv
	find purtensor tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "purtensor needs Python 3.11 or newer; say which with: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# Installed again only when the requirements or their pins changed.
$(VENV)/.installed-%: $(SOURCES) | $(BIN)/python
	$(INSTALL) --editable ".[$*]"
	@touch $@
