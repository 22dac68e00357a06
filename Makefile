# tilepragma: `make demo` shows it, `make test` proves it. Both set up .venv on first use, without root and without a GPU.
.PHONY: help environment test-environment demo test nightly bench suite lint format clean distclean

# One worker a core, at least 2; beyond 8 the longest files of tests decide.
PYTEST_WORKERS ?= $(shell n=$$(nproc 2>/dev/null || echo 2); [ $$n -gt 8 ] && n=8; [ $$n -lt 2 ] && n=2; echo $$n)
# Tests that share programs run in one worker, and all in the order of tests/conftest.py: what fails fast comes first.
PYTEST_GROUPS := --dist loadgroup --no-loadscope-reorder
VENV := .venv/bin
# The tools of this checkout come first, for the samples' makefiles too.
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# Each command that a test starts would compile all modules again where the environment forbids keeping what is compiled.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/.venv/bytecode

help:
	@echo "make demo    build every sample, run it on each target present, print times and differences"
	@echo "make test    every test (about 25 minutes on two cores)"
	@echo "make nightly random nests and reductions, 2 000 each, 3 000 heads of loops, hostile programs 200 times each, every OpenCL call failing (hours)"
	@echo "make bench   measure: translation time, threads against OpenMP, launches"
	@echo "make suite   build and time kernels against gcc, OpenMP and others; POLYBENCH=FOLDER adds your copy of PolyBench/C"
	@echo "make lint    ruff and mypy        make format   apply ruff's format"
	@echo "make clean   remove what was built        make distclean   and .venv"

environment:
	@.ci/environment demo

test-environment:
	@.ci/environment test

demo: environment
	@$(VENV)/python -m tilepragma.cli.demo samples

test: test-environment
	@env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL $(VENV)/python -m pytest -q -n $(PYTEST_WORKERS) $(PYTEST_GROUPS) $(PYTEST_OPTIONS)

nightly: test-environment
	@env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL TILEPRAGMA_NESTS=2000 TILEPRAGMA_REDUCTIONS=2000 TILEPRAGMA_HEADS=3000 $(VENV)/python -m pytest -q -rP -n $(PYTEST_WORKERS) \
		tests/property/test_automatic_plans.py tests/property/test_random_reductions.py tests/property/test_random_heads.py $(PYTEST_OPTIONS)
	@env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL TILEPRAGMA_HOSTILE_RUNS=200 $(VENV)/python -m pytest -q -n $(PYTEST_WORKERS) \
		tests/runtime/test_hostile_programs.py $(PYTEST_OPTIONS)
	@env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL TILEPRAGMA_FAULTS=all $(VENV)/python -m pytest -q -n $(PYTEST_WORKERS) \
		tests/run/test_device_faults.py $(PYTEST_OPTIONS)

bench: test-environment
	@set -e; for script in benchmarks/bench_*.py; do echo "== $$script"; $(VENV)/python $$script; done

# SUITE_OPTIONS: see `python -m benchmarks.suite --help`, for instance --quick.
suite: test-environment
	@$(VENV)/python -m benchmarks.suite $(POLYBENCH) $(SUITE_OPTIONS)

lint: test-environment
	@$(VENV)/ruff check .
	@$(VENV)/ruff format --check .
	@$(VENV)/mypy --strict tilepragma

format: test-environment
	@$(VENV)/ruff format .

clean:
	@rm -rf build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
	@for folder in samples/*/; do if [ -f $$folder/Makefile ]; then $(MAKE) -s -C $$folder clean; fi; done

distclean: clean
	@rm -rf .venv
