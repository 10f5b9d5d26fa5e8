# The two commands of the README are `make demo` and `make test`. Each makes the virtual environment
# it needs, once: a stamp named after a hash of what is built and pinned says that it is there.
#
#   make demo    train a network on real data with derived gradients
#   make test    lint, IR tests and the fast tests (import contracts are one of them)
#   make types   pyright, two minutes of one thread: continuous integration runs it before the tests
#   make slow    the sweeps that `make test` leaves out, and numbers on every CPU that this one can be;
#                SHARE=0/3, 1/3 or 2/3 takes a third of the sweeps
#   make fuzz    random programs against torch; ORACLE=, FIRST= and COUNT= choose oracle and seeds
#   make mutants deliberate faults, and which of them no test beside them notices; PACKAGE= and SEED= choose
#   make check   the tests alone; make lint: the linters alone; make format: rewrite the sources
#   make bench   measure; make clean: remove what was built, and the environment
#
# Set PYTHON= to choose an interpreter and VENV= to choose where the environment goes.

VENV ?= .venv
ifndef PYTHON
PYTHON := $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && echo $$p && break; done)
endif
JOBS ?= auto
CC ?= cc

SHELL := /bin/sh
BIN := $(VENV)/bin
RUN := $(BIN)/python
NATIVE := pyproject.toml ptx-emulator/pyproject.toml CMakeLists.txt $(wildcard runtime/*.c runtime/*/*.[ch] runtime/*/*/*.h)
# What an extra needs that is no package of an index: pip takes no relative paths in extras.
BESIDE_test := --editable ./ptx-emulator
BESIDE_bench := $(BESIDE_test)
HASH := $(shell cat $(NATIVE) | cksum | cut -d ' ' -f 1)
FAST := -m "not slow"
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Hundreds of processes import what is here: each would compile it again.
unexport PYTHONDONTWRITEBYTECODE

# $(call missing,what,package): ends the run, naming what to install.
missing = { echo "ted: $(1) is missing; install it with: sudo apt-get install $(2)" >&2; exit 1; }

.PHONY: demo test slow fuzz mutants check lint types contracts format unit ir bench clean help prerequisites
.DEFAULT_GOAL := help

help:
	@sed -n '/^# The two/,/^# Set/s/^# \{0,1\}//p' Makefile

prerequisites:
	@test -n "$(PYTHON)" || $(call missing,Python 3.10 or newer,python3 python3-venv)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  $(call missing,Python 3.10 or newer ($(PYTHON) is older),python3 python3-venv)
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  $(call missing,the venv module of $(PYTHON),python3-venv)
	@command -v $(CC) >/dev/null || $(call missing,a C compiler,g++)

# The environment with one set of extras: `.installed-<extra>-<hash>`.
$(VENV)/.installed-%-$(HASH): | prerequisites
	@echo "ted: installing into $(VENV) (extra '$*'); this happens once"
	@$(RUN) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	$(RUN) -m pip install --quiet --editable '.[$*]' $(BESIDE_$*)
	@rm -f $(VENV)/.installed-$*-*
	@touch $@

DEMO_READY := $(VENV)/.installed-demo-$(HASH)
TEST_READY := $(VENV)/.installed-test-$(HASH)
BENCH_READY := $(VENV)/.installed-bench-$(HASH)

demo: $(DEMO_READY)
	$(RUN) examples/03_digits.py

test: lint check

check: ir
	@$(MAKE) --no-print-directory unit

lint: $(TEST_READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# The binding has no annotations of its own: nanobind writes them into the environment, once.
$(VENV)/.binding-stubs: $(TEST_READY)
	$(RUN) test/hygiene/binding_stubs.py
	@touch $@

types: $(VENV)/.binding-stubs
	$(RUN) test/hygiene/package_tree.py build/tree
	$(BIN)/pyright --pythonpath $(RUN)

contracts: $(TEST_READY)
	$(RUN) test/hygiene/import_contracts.py

ir: $(TEST_READY)
	$(BIN)/lit -sv test

unit: $(TEST_READY)
	$(RUN) -m pytest -q -n $(JOBS) --dist worksteal $(FAST)

SHARE ?= 0/1

slow: $(TEST_READY)
	TED_TEST_SHARE=$(SHARE) $(RUN) -m pytest -q -n $(JOBS) --dist worksteal -m slow
	$(RUN) test/every_cpu.py -n $(JOBS) --dist worksteal $(FAST)

FIRST ?= 0
COUNT ?= 2000
ifdef JUDGE
$(warning ted: JUDGE= is called ORACLE= now)
ORACLE ?= $(JUDGE)
endif
ORACLE ?= torch

fuzz: $(TEST_READY)
	PYTHONPATH=test $(RUN) test/fuzz/campaign.py --oracle $(ORACLE) --first $(FIRST) \
	  --count $(COUNT) --into build/fuzz

PACKAGE ?=
SEED ?=

mutants: $(TEST_READY)
	PYTHONPATH=test $(RUN) -m mutation.campaign $(PACKAGE:%=--package %) $(SEED:%=--seed %)

bench: $(BENCH_READY)
	@set -e; for script in benchmarks/*.py; do echo "== $$script"; $(RUN) $$script; done

format: $(TEST_READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf build dist out $(VENV)
