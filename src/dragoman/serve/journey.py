"""The whole journey of a question as plain data: what `result_data` has, and what a page shows beside it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import PurePath
from typing import Any

from dragoman.record import result_data
from dragoman.serve.desk import Desk
from dragoman.text import fold, stemmer, stop_words
from dragoman.types import Hit, Ranking, Result

RAW_DEPTH = 100  # so far down is looked for where a hit stood before
SHOWN = 25  # hits of each ranking; the ranks of those further down stand with the fused hits
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
ASKED, BROUGHT = "asked", "brought"


def journey_data(desk: Desk, result: Result, raw: Sequence[Hit]) -> dict[str, Any]:
    """The result's data with, in addition:

    - `profile`, `documents` (of the index);
    - each search's `words`: [piece, documents] of its text in order, None but for telling words;
    - `rankings`: `search` (its place among `searches`), `retriever`, `seconds`, `total`, the first hits;
    - `raw`: what the question alone gives; each hit's `raw_rank`, None where it is not among them;
    - each hit's `title_marks` and `text_marks`: pieces of its text, each with where its word was looked
      for: `asked` in the question as asked, `brought` by the rewriting, empty for neither.
    """
    data = result_data(result)
    marks = _Marks(result, desk)
    place = {hit.doc_id: rank for rank, hit in enumerate(raw, start=1)}
    for hit, shown in zip(result.hits, data["hits"], strict=True):
        shown["raw_rank"] = place.get(hit.doc_id)
        shown["title_marks"] = marks.pieces(hit.title)
        shown["text_marks"] = marks.pieces(hit.text)
    for search in data["searches"]:
        search["words"] = list(_counted(search["text"], desk))
    for step in data["steps"]:
        for rule in step["rules"]:
            rule["source"] = _short(rule["source"])
    return {
        **data,
        "profile": desk.name,
        "documents": desk.corpus.documents if desk.corpus else None,
        "rankings": [_ranking(ranking, result) for ranking in result.rankings],
        "raw": [_brief(hit, rank) for rank, hit in enumerate(raw[:SHOWN], start=1)],
    }


def _ranking(ranking: Ranking, result: Result) -> dict[str, Any]:
    asked = ranking.search  # two searches that came to the same weigh as one: the weight is no search's own then
    at = next(i for i, search in enumerate(result.searches) if replace(search, weight=asked.weight) == asked)
    return {
        "search": at,
        "retriever": ranking.retriever,
        "seconds": round(ranking.seconds, 6),
        "total": len(ranking),
        "hits": [_brief(hit, rank) for rank, hit in enumerate(ranking.hits[:SHOWN], start=1)],
    }


def _brief(hit: Hit, rank: int) -> dict[str, Any]:
    return {"rank": rank, "doc_id": hit.doc_id, "score": round(hit.score, 6), "title": hit.title}


def _short(source: str) -> str:
    """A file's name and line, without the folders of this machine."""
    path, colon, line = source.rpartition(":")
    return f"{PurePath(path).name}:{line}" if colon and line.isdecimal() else source


def _counted(text: str, desk: Desk) -> Iterator[tuple[str, int | None]]:
    """The text in pieces; a telling word with the number of documents that hold it, everything else with None."""
    stop = stop_words(_language(desk))
    at = 0
    for match in _WORD.finditer(text):
        if match.start() > at:
            yield text[at : match.start()], None
        telling = desk.corpus is not None and fold(match[0]) not in stop
        yield match[0], _documents(desk, match[0]) if telling else None
        at = match.end()
    if at < len(text):
        yield text[at:], None


def _documents(desk: Desk, word: str) -> int:
    return desk.corpus.frequency(word) if desk.corpus is not None else 0


def _language(desk: Desk) -> str:
    return desk.corpus.language if desk.corpus is not None else "en"


class _Marks:
    """Which words of a passage were looked for, and by whom."""

    def __init__(self, result: Result, desk: Desk) -> None:
        language = _language(desk)
        self._stop = stop_words(language)
        self._stem: Callable[[str], str] = stemmer(language)
        self._asked = self._stems(result.question.text)
        brought: set[str] = set()
        for search in result.searches:
            brought |= self._stems(search.text)
            brought |= {self._stem(term) for term, _ in search.terms if term not in self._stop}
        self._brought = brought - self._asked

    def _stems(self, text: str) -> set[str]:
        return {self._stem(word) for word in map(fold, _WORD.findall(text)) if word not in self._stop}

    def _kind(self, word: str) -> str:
        stem = self._stem(fold(word))
        return ASKED if stem in self._asked else BROUGHT if stem in self._brought else ""

    def pieces(self, text: str) -> list[list[str]]:
        """The text as [kind, piece] in order; neighbouring pieces of no kind are one."""
        return [[kind, "".join(piece for _, piece in run)] for kind, run in groupby(self._cut(text), lambda p: p[0])]

    def _cut(self, text: str) -> Iterator[tuple[str, str]]:
        at = 0
        for match in _WORD.finditer(text):
            if match.start() > at:
                yield "", text[at : match.start()]
            yield self._kind(match[0]), match[0]
            at = match.end()
        if at < len(text):
            yield "", text[at:]
