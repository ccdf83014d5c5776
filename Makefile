# make test, make demo: from a fresh clone to a result, with nothing but git, make, a C++20 compiler, Python with
# venv, and the package registries. Both are quick the second time.
#
# VENV=path   environment to use or make (default .venv)      PYTHON=python3   interpreter that makes it
# HTA_VENV=path   the one of test-hta (default .venv-hta)
# JOBS=n      compilers at once (default: the cores, at most one per 2 GiB of memory)

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3
VENV ?= .venv
HTA_VENV ?= .venv-hta
BUILD := build/release
memory_jobs := $(shell awk '/MemAvailable/ {n = int($$2 / 2097152); print n < 1 ? 1 : n}' /proc/meminfo 2>/dev/null || echo 2)
JOBS ?= $(shell n=$$(nproc 2>/dev/null || echo 2); echo $$((n < $(memory_jobs) ? n : $(memory_jobs))))

ifneq ($(words $(CURDIR)),1)
  $(error The path '$(CURDIR)' has a space in it (make cannot work with that); clone somewhere else)
endif
venv := $(abspath $(VENV))
hta_venv := $(abspath $(HTA_VENV))
PY := $(venv)/bin/python
STAGE := scripts/stage.sh

# CMake, ninja, ccache and the linters come from the environment, and CMake takes its Python.
export PATH := $(venv)/bin:$(PATH)
export VIRTUAL_ENV := $(venv)
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport PYTHONHOME
unexport PYTHONPATH

setup_stamp := $(venv)/.iterscope-setup
install_stamp := $(venv)/.iterscope-installed
hta_stamp := $(hta_venv)/.iterscope-hta

# Folders are in the list too: their time changes when a file is removed.
package_sources := $(shell find CMakeLists.txt VERSION pyproject.toml README.md LICENSE cmake src include python \
                     \( -type d -o -type f \) -not -path '*__pycache__*' 2>/dev/null | sed 's/ /\\ /g')

.PHONY: help setup build test test-hta demo lint format sanitize benchmark clean distclean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 12

setup: $(setup_stamp) ## make the Python environment with every dependency
build: $(install_stamp) cpp-build ## build and install iterscope into the environment, and build the C++ tests

test: $(install_stamp) cpp-build ## run every test
	@$(STAGE) "C++ tests" ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -j $(JOBS)
	@$(STAGE) "Python tests" $(PY) -m pytest $(PYTEST_FLAGS)

test-hta: $(install_stamp) $(hta_stamp) ## HolisticTraceAnalysis, in an environment of its own, reads our traces
	@$(STAGE) "HolisticTraceAnalysis" scripts/test_hta.sh $(PY) "$(hta_venv)/bin/python"

demo: $(install_stamp) ## profile PnP on a photograph through BenchOpt; print a table and file names
	@$(PY) scripts/demo.py

lint: $(install_stamp) ## check formatting, lint and types
	@$(STAGE) "lint" scripts/lint.sh

format: $(setup_stamp) ## format C++ and Python
	@git ls-files -z -c -o --exclude-standard '*.cpp' '*.hpp' '*.inc' | xargs -0 -r clang-format -i
	@ruff check -q --fix-only . && ruff format -q .

sanitize: $(setup_stamp) build/debian/.checked ## core, sinks and custom mode under the sanitizers
	@for preset in asan tsan; do \
	    $(STAGE) "$$preset build" scripts/quietly.sh cmake --preset $$preset --no-warn-unused-cli; \
	    $(STAGE) "$$preset build" cmake --build --preset $$preset; \
	    $(STAGE) "$$preset tests" ctest --preset $$preset -j $(JOBS); \
	done

benchmark: $(install_stamp) build/debian/.checked ## measure overhead and solver speed against their peers
	@scripts/quietly.sh cmake -S . -B $(BUILD) -DITERSCOPE_BUILD_BENCHMARKS=ON --no-warn-unused-cli
	@$(STAGE) "build benchmarks" cmake --build $(BUILD)
	@for script in benchmarks/[a-z]*.py; do $(STAGE) "$$script" $(PY) "$$script"; done

clean: ## remove build trees (the environment stays)
	rm -rf build "$(install_stamp)"

distclean: clean ## remove build trees and the environments
	rm -rf "$(venv)" "$(hta_venv)"

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	    echo "$(PYTHON) is too old (iterscope needs Python 3.10 or newer); pass PYTHON=<a newer one>." >&2; exit 1; }
	@$(STAGE) "environment" $(PYTHON) -m venv "$(venv)"

$(setup_stamp): requirements-dev.txt constraints.txt | $(PY)
	@$(STAGE) "dependencies" $(PY) -m pip install -q -r requirements-dev.txt -c constraints.txt
	@touch "$@"

# Not editable, so that the tests see what a user gets. Dependencies are those of the step before.
$(install_stamp): $(setup_stamp) $(package_sources)
	@$(STAGE) "install iterscope" scripts/quietly.sh $(PY) -m pip install -v --no-build-isolation --no-deps --force-reinstall .
	@touch "$@"

$(hta_venv)/bin/python:
	@$(STAGE) "environment of HolisticTraceAnalysis" $(PYTHON) -m venv "$(hta_venv)"

$(hta_stamp): tests/hta/requirements.txt | $(hta_venv)/bin/python
	@$(STAGE) "HolisticTraceAnalysis and what it needs" "$(hta_venv)/bin/python" -m pip install -q -r $<
	@touch "$@"

build/debian/.checked: scripts/fetch_debian_packages.sh
	@$(STAGE) "GoogleTest" scripts/fetch_debian_packages.sh
	@mkdir -p build/debian && touch build/debian/.checked

.PHONY: cpp-build
cpp-build: $(install_stamp) build/debian/.checked
	@scripts/quietly.sh cmake -S . -B $(BUILD) -DITERSCOPE_BUILD_TESTS=ON --no-warn-unused-cli
	@$(STAGE) "build C++ tests" cmake --build $(BUILD)
