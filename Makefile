# The two commands that matter: `make demo` and `make test`.
# Needs python3 (3.11, 3.12 or 3.13) with venv and pip, make and git; everything else goes to .venv.

PYTHON    ?= python3
VENV      ?= .venv
TEST_JOBS ?= 2
PYTEST_ARGS ?=

PY  := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-long test-conformance test-browser bench lint format docs examples licences release-check clean FORCE
.DELETE_ON_ERROR:

help:  ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(VENV)/.installed-demo  ## fit the diabetes data, print the score, write pictures to demo/
	@$(VENV)/bin/deepnoise demo --out demo

test: $(VENV)/.installed-dev  ## the tests that take seconds each
	@$(PY) -m pytest -n $(TEST_JOBS) $(PYTEST_ARGS)

test-slow: $(VENV)/.installed-dev  ## the statistical tests that take minutes
	@$(PY) -m pytest -n $(TEST_JOBS) -m slow $(PYTEST_ARGS)

test-long: $(VENV)/.installed-dev  ## more cases of the statistical tests, before a release
	@$(PY) -m pytest -n $(TEST_JOBS) -m long $(PYTEST_ARGS)

test-conformance: $(VENV)/.installed-dev  ## scikit-learn's own checks of the classifier and the baselines
	@$(PY) -m pytest -n $(TEST_JOBS) -m conformance tests/estimators $(PYTEST_ARGS)

test-browser: $(VENV)/.installed-browser  ## the pages in a real Chromium, installed where that is possible
	@sh tests/browser/install_chromium.sh
	@$(PY) -m pytest -m browser tests/browser tests/report $(PYTEST_ARGS)

bench: $(VENV)/.installed-dev  ## time, memory and compile time against the derived floor
	@$(PY) benchmarks/bench.py
	@$(PY) benchmarks/default_fit.py

lint: $(VENV)/.installed-dev  ## ruff, formatting and types
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy

format: $(VENV)/.installed-dev  ## let ruff rewrite what it can
	@$(PY) -m ruff check --fix .
	@$(PY) -m ruff format .

docs: $(VENV)/.installed-docs  ## build the pages into site/, offline
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict --quiet
	@echo "docs: site/index.html"

examples: $(VENV)/.installed-dev  ## run examples/ and write what they show to docs/gallery/
	@$(PY) examples/render.py

licences: $(VENV)/.installed-all  ## write LICENSES-DEPENDENCIES.md from what is installed
	@$(PY) release/licences.py

release-check: $(VENV)/.home  ## build wheel and sdist, install and use both with every Python found
	@$(PY) release/release_check.py $(if $(STRICT),--strict)

clean:  ## remove the environment, caches and outputs
	@rm -rf $(VENV) demo site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis "$${XDG_CACHE_HOME:-$$HOME/.cache}/deepnoise/tests"
	@find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# An environment is stale when its python is gone or when the folder was copied from elsewhere
# (an editable install would then import the code of the other place).
VENV_HOME := $(shell $(PY) -c 'import pip' 2>/dev/null && cat $(VENV)/.home 2>/dev/null)
ifneq ($(VENV_HOME),$(CURDIR))
$(VENV)/.home: FORCE
endif

$(VENV)/.home:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || { \
	  echo "make: deepnoise needs Python 3.11, 3.12 or 3.13, and $(PYTHON) is not one of them." >&2; \
	  echo "      Name another one: make PYTHON=/path/to/python3.12" >&2; exit 1; }
	@echo "make: creating $(VENV) with $$($(PYTHON) --version)"
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV) || { \
	  rm -rf $(VENV); \
	  echo "make: '$(PYTHON) -m venv' failed. On Debian and Ubuntu: apt-get install python3-venv" >&2; \
	  exit 1; }
	@echo "$(CURDIR)" > $@

$(VENV)/.installed-%: $(VENV)/.home pyproject.toml constraints.txt
	@echo "make: installing deepnoise[$*] into $(VENV) (once; a few minutes on a slow line)"
	@$(PIP) install -c constraints.txt -e ".[$*]"
	@touch $@
