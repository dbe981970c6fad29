# The few verbs of this project; `make` alone lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help run test lint check bench picture clean

help:  ## list these verbs
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-7s %s\n", $$1, $$2}'

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@

WORKSPACE ?= .

run: $(READY)  ## install into .venv, watch WORKSPACE=path (or this folder) and show what happens; Ctrl-C ends the view
	@$(BIN)/backtrail watch '$(WORKSPACE)'
	@trap : INT; $(BIN)/backtrail events --workspace '$(WORKSPACE)' ; echo 'Here: $(BIN)/backtrail daemon stop'

lint: $(READY)  ## style, types and import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: $(READY)  ## the tests alone; ARGS="-k name" picks some
	$(BIN)/python -m pytest -n 2 $(ARGS)

test: lint check  ## everything that must pass: lint, types, import rules, tests

bench: $(READY)  ## measure against the git binary, write bench/RESULTS.md
	$(BIN)/python -m bench

picture: $(READY)  ## draw docs/backtrail.svg, the command line in use
	$(BIN)/python docs/picture.py

clean:  ## remove what make created
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
