# Everything runs on a bare Debian 12 or 13 with make, git and python3; `make help` lists the targets.
.DEFAULT_GOAL := help
.PHONY: help demo test explore server dsn lint bench clean install-postgres cluster
# Heard from make 4.4 on; before, `make -s -C elsewhere dsn` keeps make's own lines out.
MAKEFLAGS += --no-print-directory
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

python := .venv/bin/python
grain := .venv/bin/pg-grain
dsn = "$$(docker/cluster.sh dsn)"
# A DSN of your own may be given in PG_GRAIN_TEST_DSN.
test_dsn = PG_GRAIN_TEST_DSN="$${PG_GRAIN_TEST_DSN:-$$(docker/cluster.sh dsn)}"

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

demo: server ## everything on a fresh machine: ends in cited answers
	@$(python) -m pg_grain.demo --dsn $(dsn)

test: .venv/installed cluster ## all tests, on the private cluster
	@$(test_dsn) $(python) -m pytest -n auto

explore: .venv/installed cluster ## all tests, the properties on examples never drawn before
	@HYPOTHESIS_PROFILE=explore $(test_dsn) $(python) -m pytest -n auto

server: .venv/installed cluster ## private cluster under .grain/ with pg_grain in its database grain
	@$(grain) --dsn $(dsn) install >&2
	@$(grain) --dsn $(dsn) tokenizer add cl100k_base >&2

dsn: server ## start the server if need be; the last line is its DSN
	@docker/cluster.sh dsn

lint: .venv/installed ## ruff, mypy, sqlfluff
	@.venv/bin/ruff check --quiet
	@.venv/bin/ruff format --check --quiet
	@.venv/bin/mypy --strict loader plpython
	@.venv/bin/sqlfluff lint --nocolor --disable-progress-bar sql migrations

bench: server ## the measurements in tests/bench/, one after the other
	@for bench in tests/bench/[a-z]*.py; do $(test_dsn) $(python) "$$bench"; done

clean: ## throw away the cluster, what was built, and caches (.venv stays)
	@[ ! -e .grain ] || docker/cluster.sh destroy
	@rm -rf .grain build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -path ./.venv -prune -o -name __pycache__ -exec rm -rf {} +

install-postgres: ## PostgreSQL, PL/Python and pgvector from Debian (root; at once if they are there)
	@docker/install-postgres.sh >&2

# The private cluster, running, with an empty database.
cluster: install-postgres
	@docker/cluster.sh start

# The development environment, made again when pyproject.toml changes. Debian's python3 may come
# without the part that makes environments.
.venv/installed: pyproject.toml
	@python3 -c 'import ensurepip' 2>/dev/null || \
	    { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install python3-venv; } >/dev/null
	@python3 -m venv .venv
	@PYTHONWARNINGS=ignore $(python) -m pip install --quiet --disable-pip-version-check --editable '.[dev,local]' >&2
	@touch $@
