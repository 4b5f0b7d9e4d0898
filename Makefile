# Every target sets up what it needs from nothing: Python 3.11 or newer, make and a package index are enough.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-cluster check check-wheel format bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("hamlet needs Python 3.11 or newer, found " + sys.version.split()[0] + ": run make PYTHON=/path/to/python3.11") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $(READY)

setup: $(READY) ## make the virtual environment and install everything into it

demo: $(READY) ## explain the ride-sharing workload and run it: as text here, files are in demo/
	@mkdir -p demo
	@$(BIN)/hamlet explain examples/ridesharing.hql
	@$(BIN)/hamlet explain examples/ridesharing.hql --format svg --out demo/ridesharing.svg
	@$(BIN)/hamlet run examples/ridesharing.hql --events examples/rides.csv --engine local --wide
	@$(BIN)/hamlet run examples/ridesharing.hql --events examples/rides.csv --engine local --out demo/rides.csv --overwrite

check: $(READY) ## lint, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: check ## lint, types, doctests and tests, on all cores
	$(BIN)/pytest --numprocesses auto --dist loadgroup

# Workers of the cluster have a Python of their own, with nothing but the wheel in it.
test-cluster: $(READY) ## tests on a cluster of Spark on this machine; takes minutes
	rm -rf build/wheel
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir build/wheel .
	test -x build/cluster/bin/python || $(PYTHON) -m venv build/cluster
	build/cluster/bin/python -m pip install --quiet --constraint constraints.txt "$$(ls build/wheel/*.whl)[spark]"
	build/cluster/bin/python -m pip install --quiet --no-deps --force-reinstall build/wheel/*.whl
	HAMLET_CLUSTER_PYTHON=$(CURDIR)/build/cluster/bin/python $(BIN)/pytest -s tests/cluster/cluster.py

check-wheel: $(READY) ## build the wheel, install it apart from the sources, and run it
	$(BIN)/python tests/check_wheel.py

format: $(READY) ## rewrite the sources in the house format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY) ## measure the engine against its floors, and how long planning takes
	$(BIN)/hamlet bench engine
	$(BIN)/python benchmarks/analysis.py

clean: ## remove the virtual environment and what was built
	rm -rf $(VENV) build dist demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
