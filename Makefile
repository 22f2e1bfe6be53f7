# Everything runs in virtual environments inside this folder; nothing but Python 3.10+ is needed.
PYTHON ?= python3

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help test test-all other-pythons test-long editors golden test-packages fuzz fuzz-fixes mutants demo docs bench-peers accuracy hotness gain oracle tutorial picture index format clean

SOURCES := $(shell find torchlint rules -name '*.py' -o -name '*.json')
CONSTRAINTS := requirements/constraints.txt
# A module is compiled when it is first imported, and kept so wherever the machine says otherwise: of 8,600 modules that
# are installed below .venv, the tests import 2,500.
export PYTHONDONTWRITEBYTECODE :=
MIN_PYTHON := import sys; sys.exit("torchlint needs Python 3.10 or newer" if sys.version_info < (3, 10) else 0)

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

# Environments are made two at a time: each call of pip keeps one core busy.
test: ## style, types and tests, and on the other Pythons of this machine the tests that may differ there
	@$(MAKE) --no-print-directory -j2 .venv/made other-pythons
	@.venv/bin/python tests/run_all.py

test-all: ## the same with all tests on all Pythons of this machine, and all variants
	@$(MAKE) --no-print-directory -j2 .venv/made other-pythons OTHERS=--all
	@.venv/bin/python tests/run_all.py --all

# What fails here is tried again by run_all.py, and counts as a failure there.
other-pythons: ## install what the tests need on the other Pythons of this machine
	@$(PYTHON) tests/run_all.py --prepare $(OTHERS) || true

test-long: .venv/made ## the tests that take minutes
	.venv/bin/python -m pytest -m long --whole

editors: .venv/made ## build the extension of VS Code and test it with a real server (needs node 20 and npm)
	cd editors/vscode && npm ci --no-audit --no-fund && npm run check && npm run build
	cd editors/vscode && PYTHONPATH=$(CURDIR) TORCHLINT_PYTHON=$(CURDIR)/.venv/bin/python npm test
	cd editors/vscode && npm run package

golden: .venv/made ## write what is found in known code into tests/golden, and print what changed: make golden ARGS=--packages
	PYTHONPATH=.:tests .venv/bin/python tests/golden.py $(ARGS)

test-packages: .venv/made ## put smells into RL packages, fix them, run their tests and train with them
	.venv/bin/python -m pytest tests/packages --whole -n 2 -rP
	.venv/bin/python benchmarks/packages.py

fuzz: .venv/made ## a million random programs or an hour, 200 killed runs: make fuzz ARGS="--seconds 600 --seed 1"
	PYTHONPATH=.:tests .venv/bin/python -m fuzz $(ARGS)

fuzz-fixes: .venv/made ## run 10,000 random programs before and after safe fixes: make fuzz-fixes ARGS="--seed 1"
	PYTHONPATH=.:tests .venv/bin/python -m fuzz.fixes $(ARGS)

mutants: .venv/made ## put 63 small mistakes into torchlint, one at a time, and see which tests notice: make mutants ARGS="--only hotness"
	PYTHONPATH=.:tests .venv/bin/python tests/mutants.py $(ARGS)

demo: .venv-demo/made ## lint and fix a copy of the agent in examples/
	@sh examples/demo.sh .venv-demo/bin/python .venv/bin/python

docs: .venv-docs/made ## build the documentation site into site/, with every link checked
	PYTHONPATH=. NO_MKDOCS_2_WARNING=1 .venv-docs/bin/python -m mkdocs build --strict
	@echo "==> site/index.html; to read it: .venv-docs/bin/python -m http.server --directory site"

bench-peers: ## compare the speed with other linters: make bench-peers ARGS="--peers torchfix,ruff"
	$(PYTHON) benchmarks/peers.py $(ARGS)

accuracy: .venv/made ## score against labelled lines: make accuracy LABELS=... CHECKOUTS=... SCORE=...
	@test -n "$(LABELS)" && test -n "$(CHECKOUTS)" && test -n "$(SCORE)" || \
		{ echo "usage: make accuracy LABELS=labels.json CHECKOUTS=folder SCORE=score.py" >&2; exit 2; }
	.venv/bin/python benchmarks/accuracy.py "$(SCORE)" "$(LABELS)" "$(CHECKOUTS)"

hotness: .venv/made ## train under a call counter and compare hotness with it: rewrites a part of docs/accuracy.md
	PYTHONPATH=.:tests:tests/packages .venv/bin/python benchmarks/hotness.py --write docs/accuracy.md

gain: .venv/made ## train eight programs as they are and after fixes, with results and events compared: rewrites a part of docs/fixes.md
	.venv/bin/python benchmarks/gain.py --write $(ARGS)

oracle: .venv/made ## train on the counted device and hold what waits against findings: rewrites a part of docs/counted-device.md
	PYTHONPATH=.:tests:tests/packages .venv/bin/python benchmarks/oracle.py --write docs/counted-device.md

tutorial: .venv/made ## run the commands of docs/tutorial.md and put what they print into it
	.venv/bin/python benchmarks/tutorial.py

picture: .venv/made ## draw what torchlint prints for the agent in examples/: docs/assets/check.svg and count.svg
	.venv/bin/python benchmarks/picture.py

index: .venv/made ## write the table that is made from the rules
	PYTHONPATH=. .venv/bin/python tests/rule_index.py

format: .venv/made ## format the code and apply the fixes of ruff
	.venv/bin/python -m ruff check --fix-only .
	.venv/bin/python -m ruff format .

clean: ## remove all that these commands made
	rm -rf .venv .venvs .venv-demo .venv-docs site .cache .mypy_cache .ruff_cache .pytest_cache build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/made: pyproject.toml $(CONSTRAINTS)
	@echo "==> making .venv with torch and the development tools (minutes, once)"
	@$(PYTHON) -c '$(MIN_PYTHON)'
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet --upgrade pip
	.venv/bin/python -m pip install --quiet --no-compile -c $(CONSTRAINTS) -e '.[bench,dev]'
	@touch $@

.venv-demo/made: pyproject.toml $(SOURCES)
	@echo "==> making .venv-demo with torchlint alone (no torch)"
	@$(PYTHON) -c '$(MIN_PYTHON)'
	$(PYTHON) -m venv .venv-demo
	.venv-demo/bin/python -m pip install --quiet --upgrade pip
	.venv-demo/bin/python -m pip install --quiet .
	@touch $@

.venv-docs/made: pyproject.toml requirements/docs.txt
	@echo "==> making .venv-docs with the tools of the documentation (no torch)"
	@$(PYTHON) -c '$(MIN_PYTHON)'
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip install --quiet --upgrade pip
	.venv-docs/bin/python -m pip install --quiet -r requirements/docs.txt -e .
	@touch $@
