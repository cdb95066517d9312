# CI runs `make check` and `make e2e`. Python >= 3.11 and make are all that most of this needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
DEV := $(VENV)/.dev
# One for each core: more of them only take the caches of the processors from each other.
WORKERS ?= $(shell nproc 2>/dev/null || echo 2)
MEMBERS ?= 3
# Every worker and every program that a test starts would compile all of it anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo screenshots test test-deep scenarios check gen fix bench bench-peers clean help \
	karmada-up karmada-down karmada-status e2e faults release

help: ## What can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; set PYTHON=" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(RUNTIME): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[demo,web]'
	@touch $@

$(DEV): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@ $(RUNTIME)

demo: $(RUNTIME) ## Start an embedded federation and run the examples on it (ARGS=--keep stays up)
	$(BIN)/gsched demo $(ARGS)

screenshots: $(DEV) ## The README's pictures of the dashboard, from the demo's world (needs Chromium)
	$(BIN)/python -m tools.screenshots

test: $(DEV) ## The test suite
	$(BIN)/pytest -n $(WORKERS) --maxschedchunk 2 $(ARGS)

test-deep: $(DEV) ## What takes hours: many more generated examples, longer times (SHARD=1/3)
	HYPOTHESIS_PROFILE=deep $(BIN)/pytest -n $(WORKERS) --maxschedchunk 2 -o timeout=7200 \
		-m deep $(ARGS)

scenarios: $(DEV) ## Cases from files, ours or Volcano's, one line each (FILES="a.json b.yaml")
	@$(BIN)/python -m tools.scenarios $(FILES)

gen: $(DEV) ## Write everything that is generated: CRDs, reference pages
	$(BIN)/python -m tools.generate

check: $(DEV) ## What must hold: generated files, format, lint, types, imports, tests
	MAKE="$(MAKE)" $(BIN)/python -m tools.check

fix: $(DEV) ## Format, and mend what lint can mend
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

bench: $(DEV) ## Figures against their targets, printed and written to build/bench.json
	$(BIN)/python -m bench $(ARGS)

bench-peers: $(DEV) ## Beside karmada-scheduler on a real Karmada (ARGS="--bindings 200"; --page writes the page)
	$(BIN)/python -m bench.peers $(ARGS)

karmada-up: $(DEV) ## A real Karmada on this machine (MEMBERS=3 KARMADA=1.18.2 PORT=0 ARGS=...)
	$(BIN)/python -m tools.local_karmada up --members $(MEMBERS) $(if $(PORT),--first-port $(PORT)) $(ARGS)

karmada-down: $(DEV) ## End it, whatever state it is in
	$(BIN)/python -m tools.local_karmada down

karmada-status: $(DEV) ## Its processes, and whether they work
	$(BIN)/python -m tools.local_karmada status

e2e: $(DEV) ## The end-to-end suite on a real Karmada (KARMADA=1.17.1 for the older one)
	$(BIN)/python -m tools.local_karmada build
	$(BIN)/python -m tools.e2e $(ARGS)

faults: $(DEV) ## Real processes killed, stopped, cut off and lied to; 15 minutes of churn (SECONDS=120)
	$(BIN)/pytest tests/faults -m faults -p no:randomly -p no:cacheprovider --durations=0 $(ARGS)

release: $(DEV) ## A release below dist/: wheel, sdist, charts, checksums, notes; publishes nothing
	$(BIN)/python -m tools.release

clean: ## Remove what was built, the environment included
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
