# Everything that a stranger types. Each target first makes the environment in .venv, once. What pip cannot install
# (requirements/system.sh) is installed with apt-get for root, and named otherwise; nothing else is touched.
#
#   make demo    start the service on the embedded model and apply an example edit, drafted and not drafted
#   make test    lint, types, import contracts, proto and stubs, then every test
#   make planted-bugs   plant known bugs in the reference decoder, one at a time: some test must catch each
#   make bench   the latency benchmark (redraft eval latency); raw samples go to runs/latency.json
#
#   make lint | format | stubs | lock | clean

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test planted-bugs bench lint format stubs lock node clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SUFFIX := $(VENV)/.suffix
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

EXAMPLE ?=
BENCH ?=
PYTEST ?=

help:
	@sed -n '1,/^$$/s/^# \{0,1\}//p' Makefile

# ---- the environment ----

# Only what the goals need: a compiler to measure compiled decoding and to build suffix decoding, Node.js to test with a
# client that is not ours, Prometheus to evaluate the dashboard's queries, Chromium to look at the page of the evals.
NEEDS := $(if $(filter test,$(MAKECMDGOALS)),node prometheus chromium compiler)
NEEDS += $(if $(filter bench,$(MAKECMDGOALS)),compiler)
system:
	@sh requirements/system.sh $(PYTHON) $(NEEDS)

# torch comes first, with its own dependencies: where pip knows a CPU build it takes that one, and on other machines the
# default build, which needs its own packages. Everything else is pinned and installed without dependencies.
# A changed pin is installed over what is there.
$(READY): requirements/torch.txt requirements/cpu.lock pyproject.toml | system
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' \
		|| { echo 'redraft needs Python 3.11 to 3.14: make PYTHON=/path/to/python3.11 ...' >&2; exit 1; }
	@echo 'Making the environment in $(VENV) (a few minutes, once) ...'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install -r requirements/torch.txt -c requirements/cpu.lock
	@$(PIP) install --no-deps -r requirements/cpu.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

# Suffix decoding is compiled, so it is not in every environment: the tests and the replay have it.
$(SUFFIX): requirements/suffix.txt requirements/suffix-build.txt | $(READY)
	@echo 'Building arctic-inference (a minute or two, once) ...'
	@$(PIP) install --no-deps -r requirements/suffix-build.txt
	@PATH="$(CURDIR)/$(BIN):$$PATH" CMAKE_ARGS="-DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python" \
		$(PIP) install --no-deps --no-build-isolation -r requirements/suffix.txt
	@touch $@

setup: $(READY)

# ---- what it does ----

demo: $(READY)
	@$(BIN)/redraft demo $(if $(EXAMPLE),--example $(EXAMPLE))

bench: $(READY)
	@mkdir -p runs
	$(BIN)/redraft eval latency --json runs/latency.json $(BENCH)

# ---- checks ----

test: $(READY) $(SUFFIX) lint
	@sh tests/run.sh $(BIN)/python $(PYTEST)

planted-bugs: $(READY)
	@$(BIN)/python tests/drafts/reference/planted.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	cd proto && ../$(BIN)/buf lint
	$(BIN)/python -m pytest --quiet tests/proto

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The virtual path makes protoc write correct absolute imports into service/pb.
# `make lint` runs the test that they are fresh.
PROTOS := $(wildcard proto/redraft/v1/*.proto)
stubs: $(READY)
	$(BIN)/python -m grpc_tools.protoc -Iservice/pb=proto/redraft/v1 \
		--plugin=protoc-gen-mypy=$(BIN)/protoc-gen-mypy --plugin=protoc-gen-mypy_grpc=$(BIN)/protoc-gen-mypy_grpc \
		--python_out=. --grpc_python_out=. --mypy_out=quiet:. --mypy_grpc_out=quiet:. \
		$(PROTOS:proto/redraft/v1/%=service/pb/%)

# Pins what is installed now (see requirements/freeze.py).
lock:
	$(BIN)/python requirements/freeze.py

clean:
	rm -rf $(VENV) build dist runs *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
