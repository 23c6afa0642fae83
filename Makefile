# Everything runs in a private environment, .venv, which the first target that needs it makes.
#   make test PYTHON=python3.12      another Python
#   make test ARGS="-k packaging"    arguments for pytest
#   make reproduce PAPER=NAME QUICK=1
#   make fuzz MINUTES=30 ARGS="--models SMLR RMLR"

PYTHON ?= python3
VENV ?= .venv
CONSTRAINTS ?=
ARGS ?=
PAPER ?=
QUICK ?=
MINUTES ?= 10
SANITIZE ?=

PY := $(VENV)/bin/python
STAMPS := $(VENV)/stamps
CORE := $(wildcard src/smaller/_core/*.cpp src/smaller/_core/*.hpp)

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
export PIP_USER := 0
unexport PYTHONPATH PYTHONHOME

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test fuzz test-pure test-slow test-gpu test-oldest test-sdist test-sanitized test-core coverage lint format hooks tidy work checks docs bench reproduce clean FORCE

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-22s %s\n", $$1, $$2 }'

demo: $(STAMPS)/package $(STAMPS)/extra-cli $(STAMPS)/extra-report  ## fit sparse models to real data and leave a report on each
	$(PY) -m smaller demo $(ARGS)

# Each pytest worker gets one thread, so that the workers do not fight for the cores.
test fuzz test-pure test-slow test-gpu test-core coverage bench: export OMP_NUM_THREADS := 1
test fuzz test-pure test-slow test-gpu test-core coverage bench: export OPENBLAS_NUM_THREADS := 1

test: $(STAMPS)/package $(STAMPS)/extra-test  ## run the tests
	$(PY) -m pytest -n auto $(ARGS)

fuzz: $(STAMPS)/package $(STAMPS)/extra-test  ## try random crossings of options, with fresh seeds (MINUTES=10)
	cd tests && "$(abspath $(PY))" -m crossing --minutes $(MINUTES) $(ARGS)

MODEL_TESTS := $(patsubst %,tests/test_%.py,accelerated adaptive bad_input bounds contract decision dualspace gated \
	groups invariance jcfo marginal memmap models objective persist relevance solvers strengths)

test-pure: $(STAMPS)/package $(STAMPS)/extra-test  ## run the tests of the models on the NumPy twins of the compiled core
	SMALLER_PURE=1 $(PY) -m pytest -n auto $(or $(ARGS),$(MODEL_TESTS))

test-slow: $(STAMPS)/package $(STAMPS)/extra-test  ## run the tests that take minutes
	$(PY) -m pytest -n auto -m slow $(ARGS) || [ $$? -eq 5 ]  # 5: no test is marked slow

test-gpu: $(STAMPS)/package $(STAMPS)/extra-test $(STAMPS)/extra-gpu  ## run the tests of tensors (PyTorch is large), on a GPU too if there is one
	$(PY) -m pytest tests/test_accelerated.py $(ARGS)

test-oldest:  ## run the tests with the oldest supported dependencies
	$(MAKE) test VENV=.venv-oldest CONSTRAINTS=constraints-oldest.txt

# The archive is installed as a user would, and the tests that lie in it run on what was installed.
test-sdist: export OMP_NUM_THREADS := 1
test-sdist: export OPENBLAS_NUM_THREADS := 1
test-sdist: $(STAMPS)/base  ## build the source archive, install it in an environment of its own, run its tests
	rm -rf build/sdist && mkdir -p build/sdist
	$(PY) -c 'from scikit_build_core.build import build_sdist; print(build_sdist("build/sdist"))'
	tar -xzf build/sdist/smaller-*.tar.gz -C build/sdist
	$(MAKE) --no-print-directory VENV=.venv-sdist .venv-sdist/stamps/extra-test
	.venv-sdist/bin/python -m pip install -q --no-deps --force-reinstall build/sdist/smaller-*.tar.gz
	cd build/sdist/smaller-*/ && "$(CURDIR)/.venv-sdist/bin/python" -m pytest -n auto $(ARGS)

# The libraries of the sanitizers must be the first that Python loads; what Python itself never frees is no leak of ours.
CORE_TESTS := $(patsubst %,tests/test_%.py,kernels fallbacks solvers objective relevance gated)
SANITIZERS = $(if $(SANITIZE),env ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	LD_PRELOAD="$$(for name in libasan libubsan libstdc++; do $${CXX:-c++} -print-file-name=$$name.so; done | xargs)")

test-sanitized:  ## run the tests of the compiled core under address and undefined-behaviour sanitizers (GCC)
	SMALLER_REQUIRE_COMPILED=1 $(MAKE) --no-print-directory test-core VENV=.venv-sanitized SANITIZE=1

test-core: $(STAMPS)/package $(STAMPS)/extra-wheel-test
	$(SANITIZERS) $(PY) -m pytest $(CORE_TESTS) $(ARGS)

coverage: $(STAMPS)/package $(STAMPS)/extra-test  ## measure which statements and branches the tests reach, for each sub-package
	rm -rf build/coverage && mkdir -p build/coverage
	$(PY) -m pytest -n auto --cov --cov-report=json:build/coverage/report.json $(ARGS)
	$(PY) .ci/coverage.py build/coverage/report.json

lint: $(STAMPS)/extra-lint  ## check style and types
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

format: $(STAMPS)/extra-lint  ## put the code into the house style
	$(PY) -m ruff check --quiet --fix --exit-zero .
	$(PY) -m ruff format .

hooks: $(STAMPS)/package $(STAMPS)/extra-test $(STAMPS)/extra-lint $(STAMPS)/extra-check  ## run the hooks of pre-commit on all files
	$(PY) -m pre_commit run --all-files $(ARGS)

TIDY = -std=c++17 $(shell $(PY) -c 'import nanobind, sysconfig; \
	print("-isystem", nanobind.include_dir(), "-isystem", sysconfig.get_path("include"))')

tidy: $(STAMPS)/base $(STAMPS)/extra-check  ## look for mistakes in the compiled core with clang-tidy (two minutes)
	$(VENV)/bin/clang-tidy --quiet $(wildcard src/smaller/_core/*.cpp) -- $(TIDY)

work: $(STAMPS)/package  ## count the steps and calls of some fits; more than recorded is an error (ARGS=--write records)
	$(PY) .ci/work.py $(ARGS)

checks: $(STAMPS)/package $(STAMPS)/extra-check  ## check the packages that would be published, and what they say of themselves
	rm -rf build/packages && mkdir -p build/packages
	$(PY) -m build --installer pip --outdir build/packages .
	$(PY) -m twine check --strict build/packages/*
	$(PY) -m check_manifest
	! ls build/packages/*abi3*.whl > /dev/null 2>&1 || $(VENV)/bin/abi3audit --strict --summary build/packages/*abi3*.whl
	$(VENV)/bin/validate-pyproject pyproject.toml
	$(VENV)/bin/repo-review .

docs: $(STAMPS)/package $(STAMPS)/extra-docs  ## build the documentation into docs/_build/html
	$(PY) -m sphinx -W -b html docs docs/_build/html

bench: $(STAMPS)/package $(STAMPS)/extra-bench  ## compare with peer libraries
	$(PY) -m benchmarks.run $(ARGS)

reproduce: $(STAMPS)/package $(STAMPS)/extra-plot $(STAMPS)/extra-datasets $(STAMPS)/extra-experiments  ## repeat the papers' experiments (PAPER=NAME, QUICK=1)
	$(PY) -m experiments $(PAPER) $(if $(QUICK),--quick) $(ARGS)

clean:  ## remove the environments and everything built
	rm -rf .venv .venv-* build dist docs/_build docs/gallery demo-report .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests examples docs benchmarks experiments -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# The environment. Each stamp is written last, so that a step cut short is done again; `busy` says that pip was
# stopped half-way, and then nothing in the environment is trusted. An environment is also made anew when its Python
# does not run any more, or when the checkout was moved.

ALIVE := $(shell [ ! -e $(STAMPS)/busy ] && [ "$$(cat $(STAMPS)/venv 2>/dev/null)" = "$(CURDIR)" ] \
	&& $(PY) -c 'import pip' 2>/dev/null && echo yes)

REQUIREMENTS = $(PY) -c 'import sys, tomllib; project = tomllib.load(open("pyproject.toml", "rb")); \
	table = {"build": project["build-system"]["requires"], "run": project["project"]["dependencies"], \
		"wheel-test": project["tool"]["cibuildwheel"]["test-requires"]}; \
	table.update(project["project"]["optional-dependencies"] | project["dependency-groups"]); \
	print(*sum((table[name] for name in sys.argv[1:]), []), sep="\n")'

# $(call install,GROUPS): the third-party packages of these groups of pyproject.toml.
define install
@echo "Installing into $(VENV): $(1)"
@$(REQUIREMENTS) $(1) > $(STAMPS)/wanted.txt
@touch $(STAMPS)/busy
@$(PY) -m pip install -q -r $(STAMPS)/wanted.txt $(if $(CONSTRAINTS),-c $(CONSTRAINTS)) || { \
	echo "The packages could not be installed; see the lines above. The next make starts with a fresh $(VENV)."; exit 1; }
@rm -f $(STAMPS)/busy
endef

$(STAMPS)/venv: $(if $(ALIVE),,FORCE)
	@found=$$($(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2> /dev/null) || { \
		echo "No Python runs as '$(PYTHON)'; name one, for example: make $(MAKECMDGOALS) PYTHON=python3.13"; exit 1; }; \
	case $$found in 2.* | 3.[0-9] | 3.10) \
		echo "smaller needs Python 3.11 or newer, and '$(PYTHON)' is $$found; name a newer one, for example:" \
			"make $(MAKECMDGOALS) PYTHON=python3.13"; exit 1;; \
	esac
	@echo "Making the environment $(VENV) (once; a minute or two)"
	@for tool in "$(PYTHON) -m venv" "$(PYTHON) -m virtualenv -q" "virtualenv -q -p $(PYTHON)" \
			"uv venv -q --seed -p $(PYTHON)"; do \
		rm -rf $(VENV); \
		$$tool $(VENV) > /dev/null 2>&1 && $(PY) -c 'import pip' 2> /dev/null && break; \
		rm -rf $(VENV); \
	done
	@[ -d $(VENV) ] || { \
		echo "'$(PYTHON)' cannot make a virtual environment: its venv module is incomplete, and there is no virtualenv or uv."; \
		echo "On Debian and Ubuntu this installs what is missing: apt install python3-venv"; exit 1; }
	@mkdir -p $(STAMPS)
	@printf '%s' "$(CURDIR)" > $@

# CMake and Ninja come along for builds without network; where they have no wheel, those of the system will do.
$(STAMPS)/base: pyproject.toml $(CONSTRAINTS) $(STAMPS)/venv
	$(call install,build run)
	@$(PY) -m pip install -q --only-binary :all: cmake ninja 2> /dev/null || true
	@touch $@

# An editable build which compiles only what changed. Whatever an interrupted one left is removed first.
$(STAMPS)/package: $(CORE) CMakeLists.txt $(STAMPS)/base
	@echo "Building smaller"
	@rm -rf $(VENV)/lib/python3*/site-packages/smaller $(VENV)/lib/python3*/site-packages/smaller-*.dist-info \
		$(VENV)/lib/python3*/site-packages/_smaller_editable*
	@$(PY) -m pip install -q --no-deps --no-build-isolation --config-settings=build-dir=$(VENV)/build \
		$(if $(SANITIZE),--config-settings=cmake.define.SMALLER_SANITIZE=ON) -e .
	@$(SANITIZERS) $(PY) -c 'from smaller._core import COMPILED; print("The compiled core is in place." if COMPILED else \
		"Note: the compiled core was not built, so NumPy does its work, more slowly. This shows why:\n" \
		"  rm -f $(VENV)/stamps/package; SMALLER_REQUIRE_COMPILED=1 make test")'
	@touch $@

$(STAMPS)/extra-%: $(STAMPS)/base
	$(call install,run $*)
	@touch $@
