from __future__ import annotations

from pathlib import Path

from dragoman.retrievers.documents.markdown import read_markdown
from dragoman.retrievers.documents.passages import Section


def sections(tmp_path: Path, text: str) -> list[Section]:
    path = tmp_path / "notes.md"
    path.write_text(text, encoding="utf-8")
    return [section for section in read_markdown(path) if section.text]


def test_headings_make_the_path(tmp_path: Path) -> None:
    found = sections(tmp_path, "# Manual\nintro\n## Chapter 3\nthree\n### Signals\nlamps\n## Chapter 4\nfour\n")
    assert found == [
        (("Manual",), "intro", 1),
        (("Manual", "Chapter 3"), "three", 3),
        (("Manual", "Chapter 3", "Signals"), "lamps", 5),
        (("Manual", "Chapter 4"), "four", 7),
    ]


def test_text_before_the_first_heading_stands_under_the_files_name(tmp_path: Path) -> None:
    assert sections(tmp_path, "hello\n\n## Part\nx")[0] == (("notes",), "hello", 1)


def test_without_a_title_the_files_name_is_the_outermost(tmp_path: Path) -> None:
    assert sections(tmp_path, "## Part\nx")[0].path == ("notes", "Part")


def test_underlined_headings_count(tmp_path: Path) -> None:
    found = sections(tmp_path, "Manual\n======\n\nintro\n\nLamps\n-----\nshine\n")
    assert [s[:2] for s in found] == [(("Manual",), "intro"), (("Manual", "Lamps"), "shine")]


def test_what_is_inside_a_code_block_is_no_heading(tmp_path: Path) -> None:
    text = "# A\n```sh\n# not a heading\n```\n~~~\n```\n# nor this\n~~~\nend"
    assert [s.path for s in sections(tmp_path, text)] == [("A",)]


def test_rules_lists_and_tables_are_no_headings(tmp_path: Path) -> None:
    text = "# A\n\n- item\n---\n\n| a | b |\n|---|---|\n\n---\n\n#hashtag\n\ntext of a\nparagraph\n---\n"
    assert [s.path for s in sections(tmp_path, text)] == [("A",)]


def test_front_matter_is_left_out(tmp_path: Path) -> None:
    assert sections(tmp_path, "---\ntitle: x\n---\n# A\ntext")[0][:2] == (("A",), "text")


def test_markup_in_a_heading_is_taken_off(tmp_path: Path) -> None:
    found = sections(tmp_path, "# See `max` and [the **rule**](x.html) ## {#anchor}\ntext")
    assert found[0].path in {("See max and the rule",), ("See max and the rule ##",)}


def test_a_section_begins_at_its_heading(tmp_path: Path) -> None:
    assert sections(tmp_path, "\n\n# A\n\n\nlate")[0].line == 3
