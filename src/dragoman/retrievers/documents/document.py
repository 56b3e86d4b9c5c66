"""What is indexed: one passage with an id, a title, a text and what else is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dragoman.text import sanitize


@dataclass(frozen=True, slots=True)
class Document:
    """One passage as it goes into an index.

    Attributes:
        doc_id: unique in the index.
        title: its heading; for a part of a file the path of headings, "Manual > Signals".
        text: may be empty where there is a title.
        metadata: what filters can ask for.
        origin: the file it is a part of, as its doc_id begins; empty for a line of JSON, which is
            a document by itself. Adding a file again replaces every passage of the same origin.
        line: where it stands in the file it was read from, from 1; 0 where that is not known.
    """

    doc_id: str
    title: str
    text: str
    metadata: Mapping[str, str] = field(default_factory=dict)
    origin: str = ""
    line: int = 0

    def __post_init__(self) -> None:
        if not self.doc_id:
            raise ValueError("a document needs an id")
        object.__setattr__(self, "doc_id", sanitize(self.doc_id))
        object.__setattr__(self, "title", sanitize(self.title))
        object.__setattr__(self, "text", sanitize(self.text))
        object.__setattr__(self, "metadata", {sanitize(k): sanitize(v) for k, v in self.metadata.items()})

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing in it to find."""
        return not (self.title.strip() or self.text.strip())
