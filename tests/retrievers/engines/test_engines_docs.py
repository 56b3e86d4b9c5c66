from __future__ import annotations

import re
from pathlib import Path

import pytest

from dragoman.retrievers.engines import KINDS

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "engines.md").read_text("utf-8")
COMPOSE = (ROOT / "docker" / "compose.engines.yaml").read_text("utf-8")


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 4
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "docs/engines.md", "exec"), names)
    assert (tmp_path / "corpus.vocabulary.jsonl").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_says_how_to_open_every_engine_and_what_to_install(kind: str) -> None:
    assert f"| `{kind}:" in PAGE
    extra = KINDS[kind].extra
    assert extra is None or f"`dragoman[{extra}]`" in PAGE


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("sqlite", "lancedb")])
def test_every_server_has_a_service_that_the_page_starts(kind: str) -> None:
    assert re.search(rf"^  {kind}:\n    image: \S+:v?[\d.]+", COMPOSE, re.MULTILINE)
    assert re.search(rf"compose\.engines\.yaml up -d .*\b{kind}\b", PAGE)


def test_no_service_is_open_to_other_machines() -> None:
    ports = re.findall(r'ports: \["([^"]*)"\]', COMPOSE)
    assert len(ports) == COMPOSE.count("image:")
    assert all(port.startswith("127.0.0.1:") for port in ports)
