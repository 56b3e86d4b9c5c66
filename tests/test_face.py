"""The package's face: every name is there, and importing it loads nothing heavy."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys

import pytest

import dragoman

HEAVY = (
    "anthropic",
    "openai",
    "onnxruntime",
    "tokenizers",
    "numpy",
    "tantivy",
    "usearch",
    "starlette",
    "asyncio",
    "httpx2",
)


def test_every_name_is_found_in_the_module_that_is_its_home() -> None:
    assert len(dragoman.__all__) > 30
    for name in dragoman.__all__:
        assert getattr(dragoman, name).__name__ == name


def test_the_names_for_type_checkers_are_the_names_at_run_time() -> None:
    tree = ast.parse(inspect.getsource(dragoman))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    typed = {
        (node.module, alias.name)
        for node in guarded.body
        if isinstance(node, ast.ImportFrom) and node.module != "typing"
        for alias in node.names
    }
    assert typed == {(home, name) for home, names in dragoman._HOMES.items() for name in names}


def test_a_name_that_is_not_there_says_so() -> None:
    with pytest.raises(AttributeError, match="Dragonman"):
        dragoman.__getattr__("Dragonman")


def test_importing_it_loads_no_client_no_runtime_and_no_web_stack() -> None:
    code = f"import sys, dragoman; print([m for m in {HEAVY!r} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert out.stdout.strip() == "[]"
