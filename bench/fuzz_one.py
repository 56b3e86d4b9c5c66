"""One target under atheris: `python -m bench.fuzz_one TARGET [libFuzzer options] CORPUS`."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["dragoman"]):
    from bench.fuzz_targets import TARGETS

if __name__ == "__main__":
    target = TARGETS[sys.argv[1]]
    atheris.Setup([sys.argv[0], *sys.argv[2:]], target)
    atheris.Fuzz()
