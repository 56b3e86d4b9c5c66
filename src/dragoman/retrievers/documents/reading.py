"""From files and folders to documents: what is read how, in which order, under which ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from dragoman.errors import CollectionError
from dragoman.retrievers.documents.document import Document
from dragoman.retrievers.documents.html import read_html
from dragoman.retrievers.documents.jsonl import read_jsonl
from dragoman.retrievers.documents.markdown import read_markdown
from dragoman.retrievers.documents.passages import Section, passages
from dragoman.retrievers.documents.pdf import read_pdf
from dragoman.retrievers.documents.plain import read_plain

ReadSections: TypeAlias = Callable[[Path], Iterator[Section]]

_SECTIONS: dict[str, ReadSections] = {
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".txt": read_plain,
    ".text": read_plain,
    ".rst": read_plain,
    ".html": read_html,
    ".htm": read_html,
    ".pdf": read_pdf,
}
_ROWS = (".jsonl", ".jsonl.gz", ".ndjson")
KINDS = (*_ROWS, *_SECTIONS)
# In a folder of BEIR's layout only this is documents; queries.jsonl beside it are questions.
_BEIR_CORPUS = ("corpus.jsonl", "corpus.jsonl.gz")


class Source(NamedTuple):
    """A file to read, and the name that the ids of its passages begin with."""

    path: Path
    name: str


def find_files(sources: Sequence[Path]) -> tuple[Source, ...]:
    """The files of all sources, each once; a folder's in the order of their names, hidden ones left out.

    Raises:
        CollectionError: a source is not there, of a kind that is not read, or a folder without any.
    """
    found: dict[Path, Source] = {}
    for given in sources:
        path = Path(given)
        if path.is_dir():
            files = [Source(file, _name(file, path)) for file in _folder(path)]
            if not files:
                raise CollectionError(f"no file in this folder is one of {', '.join(KINDS)}", path)
        elif not path.exists():
            raise CollectionError("no such file or folder", path)
        elif not _is_read(path):
            raise CollectionError(f"not a kind of file that is read; expected one of {', '.join(KINDS)}", path)
        else:
            files = [Source(path, path.name)]
        for file in files:
            found.setdefault(file.path.resolve(), file)
    if not found:
        raise CollectionError("no source was given; name a file or a folder")
    return tuple(found.values())


def _name(file: Path, folder: Path) -> str:
    # The folder's own name comes first, so that ids stay when other folders are added later.
    return (Path(folder.resolve().name) / file.relative_to(folder)).as_posix()


def _folder(folder: Path) -> list[Path]:
    for name in _BEIR_CORPUS:
        if (folder / name).is_file():
            return [folder / name]
    files = (path for path in folder.rglob("*") if path.is_file() and _is_read(path))
    return sorted(path for path in files if not any(p.startswith(".") for p in path.relative_to(folder).parts))


def _is_read(path: Path) -> bool:
    return path.name.lower().endswith(KINDS)


def count_documents(files: Sequence[Source]) -> int | None:
    """How many documents will come, where that can be told without reading them: lines of JSON."""
    if not all(file.path.name.lower().endswith(".jsonl") for file in files):
        return None
    total = 0
    for file in files:
        last = b"\n"
        with file.path.open("rb") as lines:
            while block := lines.read(1 << 20):
                total += block.count(b"\n")
                last = block[-1:]
        total += last != b"\n"
    return total


def read_documents(files: Sequence[Source]) -> Iterator[Document]:
    """The documents of all files, one at a time, in order.

    Raises:
        CollectionError: a file or line cannot be read, or a doc_id comes twice.
    """
    seen: dict[str, tuple[Path, int]] = {}
    for file in files:
        for document in _documents(file):
            first = seen.setdefault(document.doc_id, (file.path, document.line))
            if first != (file.path, document.line):
                where = f"{first[0]}:{first[1]}" if first[1] else str(first[0])
                message = f"_id {document.doc_id!r} was already given at {where}; ids must differ"
                raise CollectionError(message, file.path, document.line or None)
            yield document


def _documents(file: Source) -> Iterator[Document]:
    lower = file.path.name.lower()
    if lower.endswith(_ROWS):
        return read_jsonl(file.path)
    return passages(file.name, _SECTIONS[Path(lower).suffix](file.path))
