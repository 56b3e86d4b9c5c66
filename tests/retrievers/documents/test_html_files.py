from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.errors import CollectionError
from dragoman.retrievers.documents.html import read_html


def sections(tmp_path: Path, html: str | bytes) -> list[tuple[tuple[str, ...], str]]:
    path = tmp_path / "page.html"
    path.write_bytes(html if isinstance(html, bytes) else html.encode())
    return [(section.path, section.text) for section in read_html(path) if section.text]


def test_headings_make_the_path_under_the_pages_title(tmp_path: Path) -> None:
    html = "<title>Code</title><p>intro<h1>Rules</h1><p>a<h2>Lamps</h2><p>b<h2>Horns</h2>c<h1>Fees</h1>d"
    assert sections(tmp_path, html) == [
        (("Code",), "intro"),
        (("Code", "Rules"), "a"),
        (("Code", "Rules", "Lamps"), "b"),
        (("Code", "Rules", "Horns"), "c"),
        (("Code", "Fees"), "d"),
    ]


def test_without_a_title_the_files_name_stands_there(tmp_path: Path) -> None:
    assert sections(tmp_path, "<p>x")[0][0] == ("page",)


def test_scripts_styles_and_navigation_are_left_out(tmp_path: Path) -> None:
    html = "<nav>menu</nav><script>var a = '<p>no';</script><style>p{}</style><p>yes<svg/> and more<svg><g>no</g></svg>"
    assert sections(tmp_path, html) == [(("page",), "yes and more")]


def test_blocks_end_lines_and_inline_tags_do_not(tmp_path: Path) -> None:
    html = "<p>one <b>b</b>old<br>two</p><ul><li>three<li>four</ul><table><tr><td>five<td>six</table>"
    assert sections(tmp_path, html)[0][1] == "one bold\ntwo\nthree\nfour\nfive six"


def test_entities_are_characters(tmp_path: Path) -> None:
    assert sections(tmp_path, "<p>&sect;&nbsp;46 &amp; &#8220;x&#8221; &lt;p&gt;")[0][1] == "§ 46 & “x” <p>"


def test_a_declared_charset_is_used(tmp_path: Path) -> None:
    assert sections(tmp_path, '<meta charset="iso-8859-1"><p>stra\xdfe'.encode("latin-1"))[0][1] == "straße"


def test_an_unknown_charset_is_told(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="declares a charset that does not exist"):
        sections(tmp_path, "<meta charset=nonsense><p>x")


def test_another_encoding_than_said_is_told_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="not utf-8") as caught:
        sections(tmp_path, b"<p>a\n<p>\xff")
    assert caught.value.line == 2


@pytest.mark.parametrize(
    "html", ["<h1>never closed", "<h1><h2>x</h1></h2>y", "<p><<<>>", "</nav></nav>x", "<!-- x", ""]
)
def test_broken_markup_is_read_as_far_as_it_goes(tmp_path: Path, html: str) -> None:
    for path, text in sections(tmp_path, html):
        assert path[0] == "page"
        assert text.strip()


def test_a_heading_that_is_never_closed_is_text(tmp_path: Path) -> None:
    assert sections(tmp_path, "<h1>open <p>body") == [(("page",), "open \nbody".replace(" \n", "\n"))]
