# Every target sets up what it needs from nothing: Python 3.11 or newer, make and a package index are enough.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

# Bytecode of this checkout is written whatever the shell has set: without it every start of Python reads all sources anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo lint types patient-types tests kills soak test test-fast test-browser test-cluster test-versions check check-wheel format bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("hamlet needs Python 3.11 or newer, found " + sys.version.split()[0] + ": run make PYTHON=/path/to/python3.11") if sys.version_info < (3, 11) else None'
	@echo "making the virtual environment $(VENV)"
	$(PYTHON) -m venv $(VENV)
	@echo "installing hamlet, Spark, a Java runtime and what tests need into $(VENV): a few minutes"
	$(BIN)/python -m pip install --progress-bar on --constraint constraints.txt --editable '.[dev]'
	@touch $(READY)
	@echo "done: $(BIN)/hamlet is there"

setup: $(READY) ## make the virtual environment and install everything into it

DAY := --events demo/day.parquet --overwrite

demo: $(READY) ## ten queries over a day of rides, on Spark: what they found, and a report in demo/
	@mkdir -p demo
	@echo "1 of 6  make a day of ride-sharing events"
	@$(BIN)/hamlet generate ridesharing --events 200000 --rate 139 --groups 20 --burst 30 --seed 1 --out demo/day.parquet --overwrite
	@echo "2 of 6  explain the workload: which of its queries can share what"
	@$(BIN)/hamlet explain examples/day.hql --stage sets
	@$(BIN)/hamlet explain examples/day.hql --stage merged --format svg --out demo/plan.svg --overwrite
	@echo "3 of 6  run it without Spark, to see what was decided about sharing"
	@$(BIN)/hamlet run examples/day.hql $(DAY) --engine local --out demo/day-shared.parquet --save demo/shared
	@echo "4 of 6  the same with each query alone, to compare"
	@$(BIN)/hamlet run examples/day.hql $(DAY) --engine local --sharing never --out demo/day-alone.parquet --save demo/alone
	@echo "5 of 6  run it on Spark, on this machine"
	@$(BIN)/hamlet run examples/day.hql $(DAY) --engine spark --out demo/results.parquet --save demo/run
	@echo "6 of 6  make a report of all three"
	@echo
	@$(BIN)/hamlet report demo/run --beside demo/shared --beside demo/alone --out demo/report.html --overwrite
	@echo
	@echo "Open demo/report.html in a browser: results over time, decisions, plan and times."
	@echo "Results are in demo/results.parquet, the plan is drawn in demo/plan.svg."
	@echo "With your own events and queries (the language is told in docs/language.md):"
	@echo "  $(BIN)/hamlet run QUERIES.hql --events EVENTS.csv --type TYPE_COLUMN --time TIME_COLUMN --report REPORT.html"

check: lint types ## lint, formatting, directions of imports, and types

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache --no-logo

types: $(READY)
	$(BIN)/mypy

# One that hangs ends its process with a message after a quarter of an hour; the other processes do the rest.
SIDE_BY_SIDE := --numprocesses auto --dist loadfile --no-loadscope-reorder --max-worker-restart 0
tests: $(READY)
	$(BIN)/pytest $(SIDE_BY_SIDE)

# Types are checked beside the tests, while these wait for something: that takes a minute of one core the first time.
test: lint ## lint, types, doctests and tests, on all cores
	@$(MAKE) --no-print-directory --jobs 2 patient-types tests

patient-types: $(READY)
	@nice -n 19 $(BIN)/mypy

# What needs neither Spark nor processes that are killed: while working, `make test` before it is done.
test-fast: $(READY) ## tests without Spark and without those marked slow, on all cores: a minute and a half
	$(BIN)/pytest $(SIDE_BY_SIDE) -m 'not slow' --ignore tests/spark

# Other versions of Spark, each in an environment of its own. Streams need 4.1. They leave sockets to the garbage
# collector, which tells of them as it comes by: that is no mistake of a test.
SPARKS ?= 4.0.5 4.1.4 4.2.1
THEIR_OWN := -W 'ignore:unclosed:ResourceWarning' -W ignore::pytest.PytestUnraisableExceptionWarning
OF_BATCHES := session batch conformance second_edition values sql source connect lake
OF_STREAMS := streaming stream_changes
test-versions: $(READY) ## a part of the tests on other versions of Spark; takes minutes for each
	@mkdir -p build
	@grep -v -e '^pyspark==' -e '^py4j==' constraints.txt > build/constraints.txt
	@for version in $(SPARKS); do \
	  environment=build/spark-$$version; \
	  echo "installing Spark $$version: a few minutes the first time"; \
	  test -x $$environment/bin/python || $(PYTHON) -m venv $$environment; \
	  $$environment/bin/python -m pip install --quiet --constraint build/constraints.txt --editable '.[connect]' pyspark==$$version pytest hypothesis || exit 2; \
	  parts="$(OF_BATCHES)"; \
	  case $$version in 4.0.*) ;; *) parts="$$parts $(OF_STREAMS)" ;; esac; \
	  echo "testing with Spark $$version"; \
	  $$environment/bin/python -m pytest $(THEIR_OWN) $$(for part in $$parts; do echo tests/spark/test_$$part.py; done) || wrong="$$wrong $$version"; \
	done; \
	test -z "$$wrong" || { echo "wrong with Spark$$wrong"; exit 1; }

# Workers of the cluster have a Python of their own, with nothing but the wheel in it.
test-cluster: $(READY) ## tests on a cluster of Spark on this machine; takes minutes
	rm -rf build/wheel
	@echo "building the wheel"
	$(BIN)/python -m pip wheel --no-deps --wheel-dir build/wheel .
	test -x build/cluster/bin/python || $(PYTHON) -m venv build/cluster
	@echo "installing the wheel and Spark for the workers: a few minutes the first time"
	build/cluster/bin/python -m pip install --constraint constraints.txt "$$(ls build/wheel/*.whl)[spark]"
	build/cluster/bin/python -m pip install --quiet --no-deps --force-reinstall build/wheel/*.whl
	@command -v mvn >/dev/null || { echo "Maven is needed, which fetches a broker of Kafka; on Debian, as root: apt-get install maven"; exit 2; }
	@echo "fetching a broker of Kafka and Spark's connector: a minute the first time"
	@for part in broker connector; do \
	  mvn -q -B -f tests/cluster/kafka/pom.xml -P $$part dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/build/kafka/$$part || exit 2; \
	done
	HAMLET_KAFKA=$(CURDIR)/build/kafka $(BIN)/pytest -s tests/spark/test_stream_kafka.py
	HAMLET_CLUSTER_PYTHON=$(CURDIR)/build/cluster/bin/python $(BIN)/pytest -s tests/cluster/cluster.py

KILLS ?= 100
kills: $(READY) ## a stream that is killed 100 times while its workload changes; KILLS=N for others; takes hours
	HAMLET_KILLS=$(KILLS) $(BIN)/pytest -o faulthandler_timeout=0 -s tests/spark/test_stream_kill.py

SOAK ?= 60
soak: $(READY) ## a stream of an hour whose groups come and go: is memory flat; SOAK=MINUTES for others
	$(BIN)/hamlet bench spark --soak $(SOAK)

check-wheel: $(READY) ## build the wheel, install it apart from the sources, and run it
	$(BIN)/python tests/check_wheel.py

test-browser: $(READY) ## the tests of the report, and of the page of a stream, in a real browser (Chromium; as root it is installed)
	@{ command -v chromium && command -v chromedriver; } >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq chromium chromium-driver; } \
	  || { echo "chromium and chromedriver are needed; on Debian, as root: apt-get install chromium chromium-driver"; exit 2; }
	@echo "installing what drives the browser"
	$(BIN)/python -m pip install --constraint constraints.txt --editable '.[dev,browser]'
	HAMLET_BROWSER=1 $(BIN)/pytest tests/report/test_browser.py tests/report/test_live_browser.py

format: $(READY) ## rewrite the sources in the house format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY) ## measure the engine against its floors, and how long planning takes
	$(BIN)/hamlet bench engine
	$(BIN)/python benchmarks/analysis.py

clean: ## remove the virtual environment and what was built
	rm -rf $(VENV) build dist demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
