# `make demo` and `make test` are the two commands; `make help` names the rest.
# Every recipe runs under tools/guard.py: whatever ends make, nothing that it started stays behind.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo up test faults lint fmt lock openapi messages screenshots conformance fuzz gpu-check clean \
        bench-matmul bench-dispatch bench-verification bench-executor bench-report

PYTHON ?= python3
# The interpreter itself: a version manager's wrapper would stand between make and the guard.
INTERPRETER := $(shell $(PYTHON) -c 'import sys; print(sys.executable)' 2>/dev/null)
NO_PYTHON = $(PYTHON) does not run. GPU Goblin needs Python 3.11; name one: make PYTHON=python3.11
MAKE_PID := $(shell echo $$PPID)
VENV := .venv
BIN := $(VENV)/bin
# Of its own, as tests that find cupy take it that there may be a GPU.
GPU_VENV := .venv-gpu
GUARD = $(or $(INTERPRETER),$(error $(NO_PYTHON))) tools/guard.py --parent $(MAKE_PID) --

ROOMS := wire opgraph client labnode sdk
EDITABLE := $(foreach room,$(ROOMS),-e ./$(room))
PROJECTS := pyproject.toml $(ROOMS:%=%/pyproject.toml)
PIP_INSTALL = $(GUARD) $(BIN)/python -m pip --disable-pip-version-check --no-input install --quiet -c constraints.txt
SOURCES := tests/ benchmarks/ tools/ platform/ accounts/ research_access/ workunits/ $(ROOMS:%=%/) manage.py

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*##  *\(.*\)/\1:\2/p' Makefile | awk -F: '{printf "  make %-19s %s\n", $$1, $$2}'

demo: $(VENV)/runtime.stamp  ## a verified product through a whole network
	@$(GUARD) $(BIN)/python -m tests.network demo

up: $(VENV)/runtime.stamp  ## the same network, left running until Ctrl-C
	@$(GUARD) $(BIN)/python -m tests.network up

test: $(VENV)/test.stamp  ## everything that must pass
	@$(GUARD) $(BIN)/python tools/check.py

messages: $(VENV)/test.stamp  ## catalogues of messages: sources -> .po, .po -> .mo, and what is missing
	@$(GUARD) $(BIN)/python tools/messages.py extract
	@$(GUARD) $(BIN)/python tools/messages.py compile
	@$(GUARD) $(BIN)/python tools/messages.py check

screenshots: $(VENV)/test.stamp  ## a picture of every page, phone and desk, light and dark, vi and en
	@$(GUARD) $(BIN)/python -m tests.browser.screenshots .screenshots

conformance: $(VENV)/test.stamp  ## ONNX's node tests, the Array API, random numbers, other CPUs (minutes)
	@$(GUARD) $(BIN)/python -m tests.conformance

fuzz: $(VENV)/test.stamp  ## hostile and random graphs through reader, validator and executor, two minutes
	@$(GUARD) $(BIN)/python -m tests.fuzz

gpu-check: $(GPU_VENV)/check.stamp  ## without a GPU: the catalogue's CUDA source compiled, its calls of cupy checked
	@$(GUARD) $(GPU_VENV)/bin/python -m pytest -q --noconftest tests/gpu

faults: $(VENV)/test.stamp  ## thirty rounds of kill -9 at random moments
	@$(GUARD) $(BIN)/python -m tests.faults

lint: $(VENV)/test.stamp  ## ruff, mypy --strict and the import rules
	@$(GUARD) $(BIN)/python tools/check.py lint

fmt: $(VENV)/test.stamp  ## format the code
	@$(GUARD) $(BIN)/ruff check --fix --quiet $(SOURCES)
	@$(GUARD) $(BIN)/ruff format --quiet $(SOURCES)

bench-matmul:  ## a product against numpy and dask
bench-dispatch:  ## how fast units are given out
bench-verification:  ## what checking costs, and what it catches
bench-executor: $(VENV)/torch.stamp  ## the executor against PyTorch (whose CPU build does)
# Exported and not set in the recipe, where a shell would stand between make and the guard.
bench-matmul bench-dispatch bench-verification bench-executor: export BENCH_RECORDS := .bench
bench-matmul bench-dispatch bench-verification bench-executor: bench-%: $(VENV)/test.stamp
	@$(GUARD) $(BIN)/python -m benchmarks.$*

bench-report: $(VENV)/test.stamp  ## write docs/benchmarks.md from the last runs
	@$(GUARD) $(BIN)/python -m benchmarks.report

openapi: $(VENV)/test.stamp  ## write docs/openapi/ from the code
	@$(GUARD) $(BIN)/python tools/openapi.py

lock: $(VENV)/created.stamp  ## rewrite constraints.txt from what is newest
	@$(GUARD) $(INTERPRETER) tools/lock.py

clean:  ## remove the environment and the caches
	rm -rf $(VENV) $(GPU_VENV) .screenshots .fuzz .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(VENV)/created.stamp:
	@$(GUARD) $(INTERPRETER) tools/environment.py $(VENV)
	@touch $@

# hatchling is put into the environment first, so that pip need not build one per room.
$(VENV)/build.stamp: constraints.txt $(VENV)/created.stamp
	@$(PIP_INSTALL) hatchling editables
	@touch $@

$(VENV)/runtime.stamp: $(PROJECTS) $(VENV)/build.stamp
	@$(PIP_INSTALL) --no-build-isolation $(EDITABLE) -e .
	@touch $@

$(VENV)/test.stamp: $(PROJECTS) $(VENV)/build.stamp
	@$(PIP_INSTALL) --no-build-isolation $(EDITABLE) -e '.[test]'
	@touch $@ $(VENV)/runtime.stamp

$(VENV)/torch.stamp: $(VENV)/test.stamp
	@$(PIP_INSTALL) --no-build-isolation -e '.[torch]'
	@touch $@

$(GPU_VENV)/created.stamp:
	@$(GUARD) $(INTERPRETER) tools/environment.py $(GPU_VENV)
	@touch $@

$(GPU_VENV)/check.stamp: opgraph/pyproject.toml constraints.txt $(GPU_VENV)/created.stamp
	@$(GUARD) $(GPU_VENV)/bin/python -m pip --disable-pip-version-check --no-input install --quiet -c constraints.txt \
		-e './opgraph[gpu-check]'
	@touch $@
