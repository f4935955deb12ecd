# Needs only Python 3.11+ and make. Every target sets up what it needs in .venv.
PYTHON ?= $(shell for p in python3.14 python3.13 python3.12 python3.11 python3 python; do \
	$$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
JOBS ?= auto
CORPORA ?= $(TOPICFOLD_CORPORA)

.PHONY: demo test test-fast fuzz crash-points audit coverage test-oldest test-nightly test-free-threaded test-release test-gpu lint docs bench bench-gpu clean

demo: $(VENV)/.installed
	$(BIN)/topicfold demo --output demo

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n $(JOBS) $(PYTEST_ARGS)

# For everyday work: without the tests that are marked as slow.
test-fast: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow" $(PYTEST_ARGS)

# Line coverage of src, subprocesses included; fails below 95 %.
coverage: export COVERAGE_FILE := $(abspath $(VENV))/coverage
coverage: $(VENV)/.installed-dev
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n $(JOBS) $(PYTEST_ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

# With the oldest dependencies that pyproject.toml allows, which are built for the oldest Python.
OLDEST_PYTHON ?= python3.11

test-oldest:
	$(OLDEST_PYTHON) -m venv --clear .venv-oldest
	$(OLDEST_PYTHON) .ci/oldest.py > .venv-oldest/constraints.txt
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check -c .venv-oldest/constraints.txt -e ".[dev]"
	NUMBA_CACHE_DIR=$(CURDIR)/.venv-oldest/numba .venv-oldest/bin/python -m pytest -n $(JOBS) $(PYTEST_ARGS)

# With development versions of what scientific Python builds every night; others are the newest.
NIGHTLY := https://pypi.anaconda.org/scientific-python-nightly-wheels/simple

test-nightly:
	$(PYTHON) -m venv --clear .venv-nightly
	.venv-nightly/bin/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	.venv-nightly/bin/python -m pip install --quiet --disable-pip-version-check --pre --upgrade \
		--only-binary :all: --extra-index-url $(NIGHTLY) numpy scipy scikit-learn
	NUMBA_CACHE_DIR=$(CURDIR)/.venv-nightly/numba .venv-nightly/bin/python -m pytest -n $(JOBS) $(PYTEST_ARGS)

# With a Python that has no global lock, and what has wheels for it; tests that lack a package are skipped.
FREE_PYTHON ?= python3.14t

test-free-threaded:
	$(FREE_PYTHON) -m venv --clear .venv-free
	.venv-free/bin/python -m pip install --quiet --disable-pip-version-check --only-binary numba,llvmlite,scikit-learn,scipy,safetensors \
		-e . pytest pytest-xdist hypothesis networkx psutil
	.venv-free/bin/python -c "import sys, topicfold; assert not sys._is_gil_enabled(), 'a package switched the lock on'" 
	NUMBA_CACHE_DIR=$(CURDIR)/.venv-free/numba .venv-free/bin/python -m pytest -n $(JOBS) tests/engine tests/core tests/learn tests/infer $(PYTEST_ARGS)

# Spoiled files for every reader, for SECONDS; a finding ends it with an error.
SECONDS ?= 120

fuzz: $(VENV)/.installed-dev
	cd tests && PYTHONPATH=. $(abspath $(BIN))/python -m fuzz.runner --seconds $(SECONDS) $(FUZZ_ARGS)

# Kills every command that writes at every rename, fsync and file it opens, and looks at what is left.
crash-points: $(VENV)/.installed-dev
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/crash_points.py

# Known vulnerabilities of what is installed; asks PyPI, and fails where it gets no answer.
audit: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pip-audit
	$(BIN)/python -m pip freeze --exclude-editable > $(VENV)/audited.txt
	$(BIN)/pip-audit --strict --no-deps --disable-pip -r $(VENV)/audited.txt

# Builds dist/ and runs the demo from the wheel and from the sources in empty environments.
test-release:
	PYTHON=$(PYTHON) bash .ci/release

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Pages in docs/_build/html; a warning is an error, and nothing is fetched.
docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

bench: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks.peers $(if $(CORPORA),--corpora $(CORPORA),) $(BENCH_ARGS)

# On a machine with an NVIDIA GPU; GPU_PYTHON=python3 takes what is installed there.
GPU_PYTHON ?= $(BIN)/python
GPU_READY := $(if $(filter $(BIN)/python,$(GPU_PYTHON)),$(VENV)/.installed-gpu)

test-gpu: $(GPU_READY)
	PYTHONPATH=src $(GPU_PYTHON) -m pytest tests/gpu tests/engine/test_cuda_without_gpu.py tests/engine/test_cuda_streaming.py $(PYTEST_ARGS)

bench-gpu: $(GPU_READY)
	PYTHONPATH=src $(GPU_PYTHON) -m benchmarks.gpu $(BENCH_ARGS)

$(VENV)/.python:
	@test -n "$(PYTHON)" || { echo "topicfold needs Python 3.11 or later with venv; none was found on PATH."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: pyproject.toml | $(VENV)/.python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(VENV)/.python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: pyproject.toml | $(VENV)/.python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[docs]"
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-gpu: pyproject.toml | $(VENV)/.python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev,gpu]"
	@touch $@

$(VENV)/.installed-bench: pyproject.toml | $(VENV)/.python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[bench]"
	@touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) .venv-oldest .venv-nightly .venv-free dist demo docs/_build docs/_generated .pytest_cache .mypy_cache .ruff_cache
