# Every target sets up what it needs; nothing has to be installed by hand but Python 3.11+ and make.
export PYTHON ?= python3
# Compiled modules are kept in .venv. Without them, every program that a test starts would compile all it imports.
export PYTHONDONTWRITEBYTECODE :=
export PYTHONPYCACHEPREFIX := $(CURDIR)/.venv/compiled
BIN := .venv/bin
# One worker more than there are processors, because some tests wait for programs that they start.
WORKERS = $(shell $(PYTHON) -c 'import os; print(os.cpu_count() + 1)')

.PHONY: help demo docs reproduce test fast check bench mutations clean
.NOTPARALLEL:

help: ## Say what the targets do
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: .venv/.demo-ready ## Release the top 10 of a vote log made on the spot, also by country
	@$(BIN)/shortlist demo

ARGS ?= --quick
reproduce: .venv/.reproduction-ready ## Repeat the paper's experiments in minutes; ARGS= repeats all of them in hours
	@$(BIN)/python -m reproduction $(ARGS)

docs: .venv/.docs-ready ## Build the documentation as a site in build/docs; every warning is an error
	@rm -rf build/docs
	@$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going -c docs/site . build/docs
	@echo "Open build/docs/index.html"

test: .venv/.ready ## Run the tests and the examples in the documentation
	@$(BIN)/pytest -q -n $(WORKERS)

fast: .venv/.ready ## Run one case of each quick test
	@$(BIN)/pytest -q -n auto -m fast

check: .venv/.ready ## Lint, check the format and the types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: .venv/.ready ## Measure speed and growth, beside other libraries, and write docs/performance.md
	@.ci/setup bench
	@$(BIN)/python benchmarks/report.py

mutations: .venv/.ready ## Break decisive expressions one at a time, and see that a test fails each time
	@$(BIN)/python tests/support/mutations.py

clean: ## Remove the environment and the caches
	@rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis

# The demo needs few packages and the tests need many. All live in .venv, each with its own stamp.
.venv/.demo-ready: pyproject.toml
	@.ci/setup cli

.venv/.docs-ready: pyproject.toml
	@.ci/setup docs
	@touch $@

.venv/.reproduction-ready: pyproject.toml
	@.ci/setup reproduction
	@touch $@

.venv/.ready: pyproject.toml
	@.ci/setup dev
