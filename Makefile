# Every target sets up what it needs; nothing has to be installed by hand but Python 3.11+ and make.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: help demo test check bench clean

help: ## Say what the targets do
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-7s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(READY) ## Release the top 10 of a vote log made on the spot
	@$(BIN)/shortlist demo

test: $(READY) ## Run the tests and the examples in the documentation
	@$(BIN)/pytest -q -n auto

check: $(READY) ## Lint, check the format and the types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

bench: $(READY) ## Measure the speed of selection, as ratios inside one run
	@$(BIN)/python benchmarks/selection.py

clean: ## Remove the environment and the caches
	@rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "shortlist needs Python 3.11 or later; say make PYTHON=python3.11")'
	@echo "Setting up .venv (once; a few minutes on a slow network) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@
