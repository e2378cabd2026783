# Everything goes through here. On a fresh machine: `make app`, or `make test`.
# Works with GNU make 3.81 and later. A stamp in .venv tells what is installed, so that a second call is quick.

PYTHON_FILES := app.py core pages bench tools
RUN := .venv/bin/python
export PYTHON

.PHONY: help app test check fmt bench screenshot clean

help:
	@echo 'make app         install what is missing, fetch the models, start Headwise'
	@echo 'make test        the same with test requirements, a browser and a PostgreSQL, then all tests'
	@echo 'make check       format, lint, types, architecture, both languages, quiz proofs: in seconds'
	@echo 'make fmt         format, and mend what the linter can mend'
	@echo 'make bench       measure, each thing beside its budget'
	@echo 'make screenshot  take the picture of the README anew'
	@echo 'make clean       remove what these commands made here (not the models)'

app: .venv/.app
	@$(RUN) -m core.lm fetch || echo 'headwise: starting without the models; Head maps needs them'
	$(RUN) -m streamlit run app.py

test: .venv/.dev .venv/.browser .venv/.server
	@$(RUN) -m core.lm fetch || echo 'headwise: tests that need the models are left out'
	OMP_NUM_THREADS=1 $(RUN) -m pytest -n 2 --dist loadfile --no-loadscope-reorder

check: .venv/.dev
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/ty check $(PYTHON_FILES)
	$(RUN) -m pytest -q tests/test_architecture.py tests/test_locales.py tests/test_readme.py
	$(RUN) -m core.quiz check

fmt: .venv/.dev
	.venv/bin/ruff check --fix-only .
	.venv/bin/ruff format .

bench: .venv/.bench .venv/.browser
	@$(RUN) -m core.lm fetch
	$(RUN) -m bench

screenshot: .venv/.dev .venv/.browser
	$(RUN) -m tools.screenshot

clean:
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis

.venv/.made:
	@tools/setup.sh venv
	@touch $@

.venv/.app: .venv/.made requirements.txt
	$(RUN) -m pip install -q -r requirements.txt
	@touch $@

.venv/.dev: .venv/.app requirements-dev.txt
	$(RUN) -m pip install -q -r requirements-dev.txt
	@touch $@

.venv/.bench: .venv/.dev requirements-bench.txt
	$(RUN) -m pip install -q -r requirements-bench.txt
	@touch $@

.venv/.browser: .venv/.dev tools/setup.sh tools/browser.py
	@if tools/setup.sh browser; then touch $@; fi

.venv/.server: .venv/.dev tools/setup.sh
	@if tools/setup.sh server; then touch $@; fi
