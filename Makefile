# Two commands matter: `make run` (install, start the demo, print its address) and `make test` (install what the
# tests need, run them all). Everything lives in .venv of this checkout.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Most tests wait for real cameras in real time, so more of them than cores run at once.
WORKERS ?= 4
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist load --maxschedchunk 2

.PHONY: help run test check lint soak bench install vllm-env debian clean

help:
	@echo "make run      install, start the demo and print its address"
	@echo "make test     install what the tests need (Debian packages included) and run them all"
	@echo "make check    format, lint, types, layers, quick tests"
	@echo "make soak     the long tests"
	@echo "make bench    every benchmark, quick form"
	@echo "make install  everything for development into .venv"
	@echo "make vllm-env vLLM's CPU build and its router, for tests, into .venv-vllm and .venv-router"

run: .venv/.run
	@$(BIN)/livelens demo $(ARGS)

test: install vllm-env debian lint
	$(PYTEST) tests --ignore=tests/soak $(ARGS)

check: install lint
	$(PYTEST) tests/unit tests/contract -m "not slow" -q $(ARGS)

lint: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

soak: install debian
	$(BIN)/python -m pytest tests/soak $(ARGS)

bench: install debian
	$(BIN)/python -m bench all --quick $(ARGS)

install: .venv/.dev

.venv/bin/python:
	@[ -n "$(PYTHON)" ] && "$(PYTHON)" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' \
	  || { echo "livelens needs Python 3.11 to 3.14; name one with: make PYTHON=/path/to/python3.11"; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip' 2>/dev/null \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-venv; } \
	  || { echo "livelens needs Python's venv module; as root: apt-get install python3-venv"; exit 1; }
	"$(PYTHON)" -m venv .venv
	$(PIP) install --quiet --upgrade 'pip>=25.1'

.venv/.run: pyproject.toml constraints.txt | .venv/bin/python
	@echo "Installing livelens into .venv (about 1 GB with a CPU build of torch, some minutes) ..."
	$(PIP) install --quiet -c constraints.txt -e '.[encoder]'
	@touch $@

.venv/.dev: pyproject.toml constraints.txt | .venv/bin/python
	@echo "Installing livelens and its tools into .venv (some minutes) ..."
	$(PIP) install --quiet -c constraints.txt -e '.[encoder,redis]' --group dev
	@touch $@ .venv/.run

# vLLM pins much, so it has an environment of its own; nothing happens where it is up to date.
vllm-env: | .venv/bin/python
	@deploy/vllm/install.sh "$(PYTHON)" .venv-vllm .venv-router

# The real parts that tests talk to: an RTSP server, a browser, a clip maker.
debian:
	@missing=; for p in $$(cat tests/debian-packages.txt); do \
	  dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q '^install ok installed$$' || missing="$$missing $$p"; done; \
	if [ -n "$$missing" ]; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "Installing Debian packages:$$missing"; \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
	  else echo "The tests need Debian packages; as root: apt-get install$$missing"; exit 1; fi; fi

clean:
	rm -rf .venv .venv-vllm .venv-router .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
