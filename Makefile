# Everything here needs python3, make and git beforehand; the rest is installed into .venv.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: test lint demo serve-demo effect bench hostile soak fuzz clean

test: lint  ## every check: lint, types, import contract, tests
	$(BIN)/python -m pytest

lint: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

demo: $(INSTALLED)  ## index the shipped example and answer five questions, without a key or a network
	$(BIN)/dragoman demo --out .demo

serve-demo: $(INSTALLED)  ## the service and its page on the shipped example, without a key
	$(BIN)/dragoman serve --demo --index .demo

effect: $(INSTALLED)  ## what rewriting does to ranking, measured; written into docs/effect.md
	$(BIN)/python -m bench.effect

bench: $(INSTALLED)  ## what it costs, measured
	$(BIN)/python -m bench.cost

hostile: $(INSTALLED)  ## every fault, beside the peers in environments of their own; written into docs/reliability.md
	$(BIN)/python -m bench.hostile

soak: $(INSTALLED)  ## ten thousand questions among random faults
	$(BIN)/python -m bench.soak --out docs/reliability.md
	$(BIN)/python -m bench.kill

fuzz: $(INSTALLED)  ## the readers of replies, profiles and lexicons, fuzzed for a while
	-$(BIN)/python -m pip install --quiet atheris  # guided by coverage with it, blind without
	$(BIN)/python -m bench.fuzz

clean:
	rm -rf .venv .demo .effect .bench .peers dist build

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	touch $@
