# The two commands: `make explore` and `make test`. Each sets up .venv first, once; nothing needs to be activated.
#
#   make explore PYTHON=python3.12       another Python (3.11 or later)
#   make explore TORCH="torch==2.8.0"    another torch: any arguments of `pip install`
#   make pytest PYTEST="tests/fold -x"   run some of the tests
#   make test WORKERS=0                  run the tests in one process instead of one more than there are cores
#   make fuzz MINUTES=60                 how long to search for failing examples
#   make peer PEER=0.2.1                 which release of the peer compiler to read circuits of
#   make matrix RELEASES="2.6.0 2.15.0"  which releases of torch to test with (several GB each)
#   make cuda WHEELS=wheels              install from this folder, where there is no network
#   make cuda CUDA=--rehearse            the same with small cases on the CPU, into build/rehearsals
#   make fresh FRESH=/tmp/fresh          where its environments are kept (1.7 GB), instead of in the user's cache

PYTHON ?= python3
PYTEST ?=
# One more process than there are cores: a third of the time of the tests is spent waiting for pages and servers.
WORKERS ?= $$(($$(getconf _NPROCESSORS_ONLN) + 1))
MINUTES ?= 10
PEER ?= 0.2.1
# The oldest that is supported, and the newest.
RELEASES ?= 2.6.0 2.15.0
FRESH ?=
WHEELS ?=
CUDA ?=

VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help explore test lint format types contracts js fresh others-in-one-piece pytest fuzz peer matrix dist fix bench cuda
.PHONY: site pictures learned clean distclean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' Makefile

explore: $(VENV)/.ready-explore ## Set up; build, compile, record and train the digits circuit; open the dashboard
	$(BIN)/circuit-explorer explore

# The tests wait for pages and servers a fifth of their time, and `fresh` for pip: the other checks run beside them. The
# tests print all the time, so the others print what they found once they are through.
test: lint format ## Set up, then run every check
	@$(MAKE) -j2 pytest others-in-one-piece

lint: $(VENV)/.ready-test ## ruff: likely mistakes, docstrings, annotations
	$(BIN)/ruff check

format: $(VENV)/.ready-test ## ruff: is everything formatted?
	$(BIN)/ruff format --check

types: $(VENV)/.ready-test ## pyright
	$(BIN)/pyright --threads 2

contracts: $(VENV)/.ready-test ## import-linter: which package may import which
	$(BIN)/lint-imports --no-logo

js: $(VENV)/.ready-test ## the sources of the views: types, format; are the bundles what they give?
	bash scripts/views.sh $(VENV) check

dist: $(VENV)/.ready-test ## Build the source distribution and, from it, the wheel: dist/
	rm -rf dist
	$(BIN)/python -m build

fresh: dist ## the built wheel in new environments outside the checkout: without extras, then with [digits,ui]
	@PYTHON="$(PYTHON)" TORCH="$(TORCH)" FRESH="$(FRESH)" bash scripts/fresh.sh

others-in-one-piece:
	@printed=$$($(MAKE) types contracts js fresh 2>&1); failed=$$?; printf '\n%s\n' "$$printed"; exit $$failed

pytest: $(VENV)/.ready-test ## the tests and the docstring examples
	$(BIN)/python -m pytest -n $(WORKERS) --durations=10 $(PYTEST)

fuzz: $(VENV)/.ready-fuzz ## Search for failing examples with new seeds, for MINUTES=10; run the slow cases
	bash scripts/fuzz.sh $(BIN)/python $(MINUTES) $(WORKERS)

peer: $(VENV)/.ready-test build/libcirkit-$(PEER) ## The tests of circuits from cirkit, with its release PEER=0.2.1 instead of the installed one
	PYTHONPATH=build/libcirkit-$(PEER) $(BIN)/python -m pytest tests/symbolic/cirkit tests/app/test_user_functions.py

matrix: ## The tests of the engine with the RELEASES of torch, in environments of their own
	PYTHON="$(PYTHON)" bash scripts/matrix.sh $(WORKERS) $(RELEASES)

# Without its dependencies: it pins versions that need not be those of $(VENV).
build/libcirkit-%: | $(VENV)/.ready-test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target $@ libcirkit==$*

fix: $(VENV)/.ready-test ## Let ruff fix what it can; format; bundle the views
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	bash scripts/views.sh $(VENV) fix

bench: $(VENV)/.ready-test ## Compile times and the suite, side by side with the peer compiler; times of the views
	$(BIN)/circuit-explorer bench compile
	$(BIN)/circuit-explorer bench suite
	$(BIN)/circuit-explorer bench views

# Without $(VENV): it finds or makes the environment that it needs, in a part of its time.
cuda: ## On a machine with CUDA: test and measure all that needs it, in 8 minutes, into benchmarks/results
	$(PYTHON) -m scripts.cuda $(if $(WHEELS),--wheels "$(WHEELS)") $(CUDA)

site: $(VENV)/.ready-test ## Run the lessons and build the documentation: build/site/index.html
	$(BIN)/python -m docs.building

pictures: $(VENV)/.ready-test ## Take the pictures and the film of the README and of docs/ again; record the cards of the front page
	$(BIN)/python scripts/pictures.py
	$(BIN)/python scripts/gallery.py
	$(BIN)/python scripts/recording.py

learned: $(VENV)/.ready-test ## Train the circuits of the gallery whose weights ship again (a minute)
	$(BIN)/python scripts/learned.py

clean: ## Remove what the checks and builds leave behind
	rm -rf build dist .pytest_cache .ruff_cache .import_linter_cache
	find explorer widgets benchmarks tests -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## Remove .venv and the failing examples that `make fuzz` found, too
	rm -rf $(VENV) .hypothesis

# Set-up. A stamp file per set of packages, so that a second call costs nothing; a changed pyproject.toml renews both.
# `make explore` needs no tools, so it waits only for the lean set; the set of the tests contains that.

$(VENV)/.ready-explore: pyproject.toml scripts/setup.sh
	@PYTHON="$(PYTHON)" TORCH="$(TORCH)" bash scripts/setup.sh $(VENV) digits,ui
	@touch $@

$(VENV)/.ready-test: pyproject.toml scripts/setup.sh tests/browser/package-lock.json widgets/js/package-lock.json
	@PYTHON="$(PYTHON)" TORCH="$(TORCH)" bash scripts/setup.sh $(VENV) test
	@touch $(VENV)/.ready-explore $@

$(VENV)/.ready-fuzz: $(VENV)/.ready-test
	@PYTHON="$(PYTHON)" TORCH="$(TORCH)" bash scripts/setup.sh $(VENV) test,fuzz
	@touch $@
