.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON := .venv/bin/python
UV := $(shell command -v uv || echo .uv/bin/uv)
# Many containers set it; every command would then compile the 5,000 modules of torch and transformers again.
unexport PYTHONDONTWRITEBYTECODE
EXTRAS := dev,all
# Three on two cores: a fifth of the time tests wait for processes and servers.
IN_PARALLEL := --numprocesses 3 --dist worksteal
# Thousands of small files, each waited for on a disk: in memory the tests take a fifth less.
IN_MEMORY := $(shell [ "$$(df --output=avail --block-size=G /dev/shm 2>/dev/null | tr -dc 0-9)" -ge 8 ] 2>/dev/null && echo TMPDIR=/dev/shm)
# Whole modules, the long ones first: their fixtures train models and start clusters. Three, as many wait for commands.
BY_MODULE := --numprocesses 3 --dist loadfile --no-loadscope-reorder

help: ## Show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | column -t -s "$$(printf '\t')"

.uv/bin/uv:
	python3 -m venv .uv && .uv/bin/pip install --quiet --disable-pip-version-check uv

setup: .venv/.ready ## Make .venv with everything pinned, 7.6 GB (fetches uv if it is missing)

SIZE := 7.6 GB
# The demo does with less than half of the packages: .venv/.demo, unless everything is there.
.venv/.demo: EXTRAS := language
.venv/.demo: SIZE := 6.4 GB
.venv/.demo .venv/.ready: pyproject.toml constraints.txt | $(filter .uv/bin/uv,$(UV))
	@echo "Installing packages into .venv: $(SIZE) on Linux, 4 GB of that for GPUs. uv downloads those that its cache lacks."
	$(UV) venv --quiet --allow-existing .venv
	@# Each download as a line, but not the list of all packages at the end.
	@set -o pipefail; $(UV) pip install --python $(PYTHON) --constraint constraints.txt --editable '.[$(EXTRAS)]' 2>&1 | sed '/^ [-+~] /d'
	@touch $@

demo: $(if $(wildcard .venv/.ready),setup,.venv/.demo) ## The main job on the demo pool: score, keep exactly k, train two models, evaluate; then the report's page
	$(PYTHON) -m benchmark filter=icc size=200k
	$(PYTHON) -m benchmark task=report >/dev/null # its tables say what the run's own has just said
	@echo results/report.html

test: setup ## The default tests: CPU, no network, two to three minutes on two cores
	$(IN_MEMORY) $(PYTHON) -m pytest $(IN_PARALLEL)

test-slow: setup ## Tests of whole runs, launches and engines: four to eight minutes on two cores
	$(PYTHON) -m pytest $(BY_MODULE) -m "slow and not full and not tools"

test-tools: setup ## Tests of the makers of the demo's world and models; CI runs them when these or a shipped file changed
	$(PYTHON) -m pytest $(IN_PARALLEL) -m "tools and not full" tests/tools

test-full: setup ## Tests too long for CI, to run before a release: faults in runs, a paper's claims; prints their figures
	$(PYTHON) -m pytest -s -m full

check: setup ## ruff, mypy --strict, and who imports what
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	$(PYTHON) -m pytest tests/lints.py
	.venv/bin/mypy

perf: setup ## Measure speed and memory on this machine: three quarters of an hour on two cores
	$(UV) pip install --quiet --python $(PYTHON) --constraint constraints.txt --editable '.[$(EXTRAS),perf]'
	OMP_NUM_THREADS=$$(nproc) $(PYTHON) -m pytest bench -m perf -s --durations=10

perf-8m: setup ## Measure every stage on eight million pairs, once: over an hour, 60 GB of disk
	OMP_NUM_THREADS=$$(nproc) $(PYTHON) -m pytest -m perf -s bench/eight_million.py

gpu: setup ## All that waits for a GPU, in nine minutes: its tests, speed and memory of the real sizes; writes docs/gpu.json
	$(PYTHON) -m bench.gpu

smoke: setup ## Each model of the papers at its real size, random weights, one step on the CPU: ten minutes, 9 GiB, 16 GB of disk
	$(PYTHON) -m pytest -s -m full tests/full/test_smoke.py

fuzz: setup ## Damaged files through the readers for ten minutes
	$(PYTHON) -m tests.hostile.fuzz

oldest: | $(filter .uv/bin/uv,$(UV)) ## The default tests with the oldest packages that pyproject.toml allows, in .venv-oldest; before a release
	$(UV) venv --quiet --clear --python 3.11 .venv-oldest
	$(UV) pip install --quiet --python .venv-oldest/bin/python --resolution lowest-direct --editable '.[$(EXTRAS)]'
	$(IN_MEMORY) .venv-oldest/bin/python -m pytest $(IN_PARALLEL)

without-pairsift: setup ## A run and the default tests of benchmark, filters and downstream where the folder pairsift is absent
	$(IN_MEMORY) $(PYTHON) -m tests.without_pairsift $(IN_PARALLEL)

chaos: setup ## Whole runs killed, stopped, without disk or with another time, a hundred times; goes on where it was stopped
	$(PYTHON) -m tests.hostile.chaos build/chaos

mutants: setup ## 120 single changes of the code, drawn at random: how many the default tests notice, in an hour and a half
	$(PYTHON) -m tests.mutants $(MUTANTS)

reference: setup ## The results in results/reference that are missing, README's table: 171 runs, about eleven hours of a core
	@git diff --quiet HEAD -- . ':(exclude)results' || { echo "make reference needs committed code; commit first" >&2; exit 2; }
	$(PYTHON) -m benchmark experiment=demo_grid results_dir=results/reference
	$(PYTHON) -m benchmark task=report results_dir=results/reference task.publish=[README.md,results/LEADERBOARD.md]

models: setup ## Train the demo's scale models whose inputs changed, and build its ICC from them (all: under five hours on two cores)
	$(PYTHON) -m tools.scale_models all
	$(PYTHON) -m tools.demo_world captions
	$(PYTHON) -m benchmark experiment=icc_demo
	$(PYTHON) -m tools.scale_models.ship_icc

pins: ## Resolve all dependencies anew
	$(UV) pip compile --quiet --universal --python-version 3.11 --all-extras --upgrade --output-file constraints.txt pyproject.toml

release: VERSION = $(shell $(PYTHON) -c 'import tomllib; print(tomllib.load(open("pyproject.toml", "rb"))["project"]["version"])')
release: setup | $(filter .uv/bin/uv,$(UV)) ## Check this commit as CI does, build wheel and source archive into dist, tag them; pushes nothing
	@test -z "$$(git status --porcelain)" || { echo "make release needs a clean checkout; commit first" >&2; exit 2; }
	@grep -q "^## \[$(VERSION)\]" CHANGELOG.md && grep -q "^version: $(VERSION)$$" CITATION.cff || \
		{ echo "make release needs version $(VERSION) of pyproject.toml in CHANGELOG.md and CITATION.cff" >&2; exit 2; }
	.ci/run
	rm -rf dist && $(UV) build --quiet --sdist && $(UV) build --quiet --wheel # not from the archive, which lacks the demo
	$(UV) tool run --quiet twine@7.0.0 check --strict dist/*
	git tag --annotate v$(VERSION) --message "Version $(VERSION)"
	@ls -sh dist

audit: | $(filter .uv/bin/uv,$(UV)) ## Known vulnerabilities of the pins, from PyPI; a pin that it does not find fails
	@$(UV) tool run --quiet pip-audit@2.10.1 --version >/dev/null 2>&1 || \
		{ echo "make audit needs the network: pip-audit cannot be fetched from PyPI" >&2; exit 2; }
	@$(UV) tool run --quiet pip-audit@2.10.1 --requirement constraints.txt --no-deps --disable-pip --strict --progress-spinner off

.PHONY: help setup demo test test-slow test-tools test-full check perf perf-8m gpu smoke fuzz oldest without-pairsift chaos mutants reference models pins release audit
