"""Collections: questions, judgments and documents in a folder, as BEIR and TREC lay them out.

    FOLDER/corpus.jsonl     {"_id", "title", "text", "metadata"} a line
    FOLDER/queries.jsonl    {"_id", "text", "metadata"} a line
    FOLDER/qrels.tsv        query-id, corpus-id, score; tab separated, one header line (or qrels/test.tsv)

TREC's own forms are read too, told apart by what is in the file: topics as `<top>` blocks or as
`id<TAB>text` lines, qrels of four columns, runs of six.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from dragoman.errors import CollectionError
from dragoman.evaluate.files import Asked, Qrels, read_qrels, read_questions

_QUERIES = ("queries.jsonl", "queries.tsv", "topics.txt", "topics.tsv", "topics.xml", "topics")
_QRELS = ("qrels.tsv", "qrels/test.tsv", "qrels/dev.tsv", "qrels.txt", "qrels.trec", "qrels")


@dataclass(frozen=True, slots=True)
class Collection:
    """Questions, and what was judged for them.

    Attributes:
        name: the folder's name.
        questions: in the file's order.
        qrels: question id -> doc_id -> grade; empty where nothing was judged.
        corpus: the documents' file, where there is one.
        path: the file of the questions, for messages.
    """

    name: str
    questions: tuple[Asked, ...]
    qrels: Qrels = field(default_factory=dict, hash=False)
    corpus: Path | None = None
    path: Path | None = None

    @property
    def judged(self) -> tuple[Asked, ...]:
        """The questions with at least one document judged relevant: those a measure has a value for."""
        return tuple(asked for asked in self.questions if any(g > 0 for g in self.qrels.get(asked.id, {}).values()))

    @property
    def left_out(self) -> tuple[str, ...]:
        """The ids of the other questions; no mean counts them."""
        judged = {asked.id for asked in self.judged}
        return tuple(asked.id for asked in self.questions if asked.id not in judged)

    def filtered(self, fields: Sequence[str]) -> Collection:
        """With each question searched only among documents that share its own metadata.

        Args:
            fields: `metadata.KEY`: the document's KEY must be the question's; `KEY=VALUE`: the same for all.

        Raises:
            CollectionError: a question has no such metadata.
        """
        if not fields:
            return self
        return replace(self, questions=tuple(self._narrowed(asked, fields) for asked in self.questions))

    def _narrowed(self, asked: Asked, fields: Sequence[str]) -> Asked:
        filters = dict(asked.question.filters)
        for name in fields:
            key, equals, value = name.partition("=")
            if not equals:
                key = name.removeprefix("metadata.")
                if key not in asked.metadata:
                    known = ", ".join(sorted(asked.metadata)) or "none at all"
                    raise CollectionError(
                        f"question {asked.id!r} has no metadata {key!r} to filter by (it has {known}); "
                        "name a key that every question has, or give KEY=VALUE for all of them",
                        self.path,
                        asked.line or None,
                    )
                value = str(asked.metadata[key])
            filters[key.removeprefix("metadata.")] = value
        return replace(asked, question=replace(asked.question, filters=filters))

    def asking(self, path: Path) -> Collection:
        """The same collection asked in other words: a file of questions with the same ids."""
        return replace(self, questions=read_questions(path), path=path)


def read_collection(folder: Path, queries: Path | None = None, qrels: Path | None = None) -> Collection:
    """The collection in `folder`; `queries` and `qrels` stand for its own files where given.

    Raises:
        CollectionError: no questions there, or a line that cannot be read.
    """
    if not folder.is_dir():
        raise CollectionError("expected a folder with queries.jsonl and qrels.tsv; give the folder itself", folder)
    asked = queries or _first(folder, _QUERIES)
    if asked is None:
        raise CollectionError(f"no questions here; expected one of {', '.join(_QUERIES[:-1])}", folder)
    judged = qrels or _first(folder, _QRELS)
    corpus = folder / "corpus.jsonl"
    return Collection(
        folder.resolve().name,
        read_questions(asked),
        read_qrels(judged) if judged else {},
        corpus if corpus.is_file() else None,
        asked,
    )


def _first(folder: Path, names: Sequence[str]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)
