# The few verbs of this project; `make` alone lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help run test lint check bench torture picture clean

help:  ## list these verbs
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-7s %s\n", $$1, $$2}'

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@$(BIN)/python -m compileall -q client daemon  # as pip does for what it copies: half of a start is compiling
	@touch $@

WORKSPACE ?= .

# With job control the view alone gets the Ctrl-C; a make that gets it may complain about its own wait.
run: $(READY)  ## install into .venv, watch WORKSPACE=path (or this folder) and show what happens; Ctrl-C ends the view
	@$(BIN)/backtrail watch '$(WORKSPACE)'
	@[ ! -t 0 ] || set -m; $(BIN)/backtrail events --workspace '$(WORKSPACE)' ; echo 'Here: $(BIN)/backtrail daemon stop'

lint: $(READY)  ## style, types and import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: $(READY)  ## the tests alone; ARGS="-k name" picks some
	$(BIN)/python -m pytest -n 2 $(ARGS)

test: lint check  ## everything that must pass: lint, types, import rules, tests

# Measured is what users have: without the packages of the tests, some of which others load as soon as they are there.
USERS := $(VENV)/users

$(USERS)/.ready: pyproject.toml
	$(PYTHON) -m venv $(USERS)
	$(USERS)/bin/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

# FILES=10000 sets the size of the tree, ONLY="P1 P5" picks figures, SIZES="1000 10000" other trees for the plot,
# MILLION=1 adds one of 1,000,000 files, which takes an hour.
bench: $(USERS)/.ready  ## measure beside git and other peers, write bench/RESULTS.md, results.json and growth.svg
	@$(USERS)/bin/python -m bench --only '$(ONLY)' $(if $(FILES),--files $(FILES)) \
	  $(if $(SIZES),--sizes '$(SIZES)') $(if $(MILLION),--million)

# ONLY="kill-save damage" picks campaigns, ROUND=17 one round, MINUTES=60 and ROUNDS=100 bound it, FRESH=1 begins anew.
JOBS ?= 2

torture: $(READY)  ## the long runs of faults, damage and attacks, go on where they ended; write tests/faults/RESULTS.md
	@PYTHONPATH='$(CURDIR)/tests' $(BIN)/python -m torture --jobs $(JOBS) --only '$(ONLY)' \
	  $(if $(MINUTES),--minutes $(MINUTES)) $(if $(ROUNDS),--rounds $(ROUNDS)) \
	  $(if $(ROUND),--round $(ROUND)) $(if $(FRESH),--fresh)

picture: $(READY)  ## draw docs/backtrail.svg, the command line in use
	$(BIN)/python docs/picture.py

clean:  ## remove what make created
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .torture
