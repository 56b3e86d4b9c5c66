"""TOML with lines: where every key stands, and errors that say so."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import ProfileError, PromptError
from dragoman.tomlfile import REQUIRED, Key, Section, TomlFile, lines_of, reference

SOURCE = '''# a comment = 1
name = "x"  # [not] a header
"quoted key" = 1
dotted.inner = 2
text = """
fake = 3
[fake]
"""
raw = \'\'\'one line\'\'\'
list = [
    "a # no comment", # a comment ]
    { fake = 4 },
]

[table]
key = "[x]"
[table.deep]
key = 1
[[rows]]
id = 1
[[rows]]
id = 2
[rows.sub]
key = 3
[[rows.many]]
key = 4
'''


def test_every_key_and_table_has_its_line_and_nothing_inside_a_text_or_list_has_one() -> None:
    assert lines_of(SOURCE) == {
        ("name",): 2,
        ("quoted key",): 3,
        ("dotted", "inner"): 4,
        ("text",): 5,
        ("raw",): 9,
        ("list",): 10,
        ("table",): 15,
        ("table", "key"): 16,
        ("table", "deep"): 17,
        ("table", "deep", "key"): 18,
        ("rows",): 19,
        ("rows", 0): 19,
        ("rows", 0, "id"): 20,
        ("rows", 1): 21,
        ("rows", 1, "id"): 22,
        ("rows", 1, "sub"): 23,
        ("rows", "sub"): 23,
        ("rows", 1, "sub", "key"): 24,
        ("rows", 1, "many", 0): 25,
        ("rows", "many"): 25,
        ("rows", 1, "many", 0, "key"): 26,
    }


KEYS: Mapping[str, Key | Section] = {
    "name": Key("text", "a name", REQUIRED),
    "kind": Key("text", "a kind", "a", choices=("a", "b")),
    "words": Key("texts", "words", [], choices=("x", "y")),
    "count": Key("integer", "how many", 2, least=1),
    "share": Key("number", "how much", 0.5, least=0.0),
    "flag": Key("flag", "whether", False),
    "pairs": Key("pairs", "pairs", []),
    "weights": Key("numbers", "weights", {}, least=0.0),
    "lengths": Key(
        "numbers", "lengths", {}, least=0.0, inner=Section("a", {"low": Key("number", "low", 0.5, least=0)})
    ),
    "any": Key("list", "a list", []),
    "table": Section("a table", {"inner": Key("integer", "inner", 1)}),
    "rows": Section("rows", {"id": Key("integer", "an id", REQUIRED)}, many=True),
    "free": Section("anything"),
}


def read(tmp_path: Path, text: str) -> dict[str, object]:
    path = tmp_path / "file.toml"
    path.write_text(text, "utf-8")
    return TomlFile(path).read(KEYS)


def test_what_is_left_out_has_its_default(tmp_path: Path) -> None:
    assert read(tmp_path, 'name = "n"') == {
        "name": "n",
        "kind": "a",
        "words": [],
        "count": 2,
        "share": 0.5,
        "flag": False,
        "pairs": [],
        "weights": {},
        "lengths": {},
        "any": [],
        "table": {"inner": 1},
        "rows": [],
        "free": {},
    }


def test_a_table_in_place_of_a_number_has_its_defaults_too(tmp_path: Path) -> None:
    assert read(tmp_path, 'name = "n"\nlengths = { a = 1, b = {} }')["lengths"] == {"a": 1, "b": {"low": 0.5}}
    assert "### `[lengths.NAME]`" in reference(KEYS)


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("", None, "'name' is missing: a name"),
        ("name = 1", 1, "'name' is 1, expected a text"),
        ('name = "n"\nnmae = "x"', 2, "unknown key 'nmae'; did you mean 'name'?"),
        ('name = "n"\nzzzzz = "x"', 2, "unknown key 'zzzzz'; known here: any, count"),
        ('name = "n"\n\nkind = "c"', 3, "'kind' is 'c', expected one of a, b"),
        ('name = "n"\nwords = ["x",\n "z"]', 2, "'words' is 'z', expected one of x, y"),
        ('name = "n"\nwords = "x"', 2, "'words' is 'x', expected a list of texts"),
        ('name = "n"\ncount = 0', 2, "'count' is 0, expected 1 or more"),
        ('name = "n"\ncount = 1.5', 2, "expected a whole number"),
        ('name = "n"\ncount = true', 2, "expected a whole number"),
        ('name = "n"\nshare = nan', 2, "expected a number"),
        ('name = "n"\nshare = -1', 2, "expected 0.0 or more"),
        ('name = "n"\nflag = 1', 2, "expected true or false"),
        ('name = "n"\npairs = [["a"]]', 2, "expected a list of pairs of texts"),
        ('name = "n"\nweights = { a = "b" }', 2, "expected a table of numbers"),
        ('name = "n"\n[weights]\na = -1', 2, "'weights' is -1, expected 0.0 or more"),
        ('name = "n"\nlengths = { a = "b" }', 2, "expected a table of numbers or tables"),
        ('name = "n"\n[lengths]\na = 1\nb = -1', 2, "'lengths' is -1, expected 0.0 or more"),
        ('name = "n"\n[lengths.a]\nlow = -1', 3, "'lengths.a.low' is -1, expected 0 or more"),
        ('name = "n"\n[lengths]\na = { lwo = 1 }', 3, "unknown key 'lengths.a.lwo'; did you mean 'low'?"),
        ('name = "n"\nany = 1', 2, "expected a list"),
        ('name = "n"\ntable = 1', 2, "'table' is a table; write [table]"),
        ('name = "n"\n[table]\nx = 1', 3, "unknown key 'table.x'"),
        ('name = "n"\n[rows]\nid = 1', 2, "'rows' is a list of tables; write [[rows]]"),
        ('name = "n"\n[[rows]]\nid = 1\n[[rows]]\nid = "b"', 5, "'rows.id' is 'b', expected a whole number"),
        ('name = "n"\n[[rows]]\nid = 1\n[[rows]]\n', 4, "'rows.id' is missing"),
        ('name = "n"\nname = "m"', 2, "not TOML"),
        ('name = "n', 1, "not TOML"),
        ("name = " + "[" * 5000, None, "not TOML"),
        ('name = "n"\ncount = 12\nshare = ' + "9" * 5000, 3, "a whole number of too many digits; write a smaller one"),
        ('name = "n"\nshare = ' + "9" * 400, 2, "expected a number"),
        ('name = "n"\nshare = 0x' + "f" * 5000, 2, "'share' is a whole number of too many digits, expected a number"),
    ],
)
def test_a_mistake_has_its_line(tmp_path: Path, text: str, line: int | None, says: str) -> None:
    with pytest.raises(ProfileError) as caught:
        read(tmp_path, text)
    assert says in str(caught.value)
    assert caught.value.path == tmp_path / "file.toml"
    if line is not None or says == "":
        assert caught.value.line == line


def test_a_file_that_is_no_text_or_not_there_or_too_large_is_an_error_of_the_kind_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "file.toml"
    with pytest.raises(PromptError, match="cannot be read"):
        TomlFile(path, PromptError)
    path.write_bytes(b"name = '\xff'")
    with pytest.raises(PromptError, match="not UTF-8 at byte 8"):
        TomlFile(path, PromptError)
    path.write_bytes(b"#" * 1_000_001)
    with pytest.raises(PromptError, match="more than 1,000,000"):
        TomlFile(path, PromptError)
    with pytest.raises(PromptError, match="cannot be read"):
        TomlFile(tmp_path, PromptError)


def test_windows_line_ends_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    path = tmp_path / "file.toml"
    path.write_bytes('\ufeffname = "n"\r\ncuont = 1\r\n'.encode())
    with pytest.raises(ProfileError) as caught:
        TomlFile(path).read(KEYS)
    assert caught.value.line == 2


@given(st.text(alphabet="[]{}\"'#=ab.\n \\,", max_size=120))
def test_the_scan_for_lines_reads_any_text(text: str) -> None:
    assert all(1 <= line <= text.count("\n") + 1 for line in lines_of(text).values())


@given(st.text(max_size=200) | st.text(alphabet="[]{}\"'#=ab.\n 1,", max_size=80))
def test_no_text_breaks_the_reader_otherwise_than_with_its_error(text: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.toml"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        with contextlib.suppress(ProfileError):
            values = TomlFile(path).read(KEYS)
            assert isinstance(values["name"], str)
