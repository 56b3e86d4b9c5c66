"""The lexicon file that learning writes: what a person reads, weighs and approves, and what survives learning again.

    # learned: 14 questions; device 10 of 14 (0.7 without it), wireless 9 of 14 (0.8)
    # e.g. "may you pick up your phone at a red light" -> "handheld wireless communication device"
    phone => phone, device|0.52, wireless|0.5

A block is comments and the lines below them, up to a blank line. `10 of 14 (0.7 without it)`: of 14
held-back questions with the left side, 10 were answered with the word, where .7 were to be expected
without this entry. A block is

- in force, and learned anew each time: no status;
- `# status: accepted`: in force as the person left it; only its evidence is brought up to date;
- `# status: pending` or `# status: rejected`: not in force, its lines written behind `#=`; what was
  rejected is not proposed again.

A block that has neither a status nor evidence is the person's own and is left as it stands, first in
the file. The others follow by their left sides, so that two versions differ where they differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from dragoman.errors import LexiconError
from dragoman.rewriters.entries import Entry, Term, keys, parse
from dragoman.rewriters.lexicon import Lexicon

_LEARNED, _PROPOSED, _EXAMPLE, _STATUS, _SILENT = "learned:", "proposed:", "e.g.", "status:", "#="
_EVIDENCE = (_LEARNED, _PROPOSED, _EXAMPLE)
HEADER = "# What people ask, in the words that answer it; written by `dragoman learn`, which reads these comments."


class Status(StrEnum):
    """Where a block stands in a person's review."""

    OWN = "own"
    LEARNED = "learned"
    PENDING = "pending"
    ACCEPTED = "accepted"
    REJECTED = "rejected"

    @property
    def in_force(self) -> bool:
        """Whether its lines act."""
        return self not in (Status.PENDING, Status.REJECTED)


@dataclass(frozen=True, slots=True)
class Block:
    """One entry with what is said of it.

    Attributes:
        lines: of the lexicon's format, one for each form of the left side.
        evidence: comment lines that learning wrote.
        remarks: comment lines of a person.
    """

    lines: tuple[str, ...]
    status: Status
    evidence: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def left(self) -> str:
        """What is looked for, as the first line has it."""
        return self.entries[0].left[0] if self.lines else ""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The lines as entries."""
        return tuple(parse("\n".join(self.lines)))

    def __str__(self) -> str:
        """The block as it stands in the file."""
        marked = self.status not in (Status.OWN, Status.LEARNED)
        comments = [*self.remarks, *([f"{_STATUS} {self.status}"] if marked else []), *self.evidence]
        silent = "" if self.status.in_force else f"{_SILENT} "
        return "\n".join([*(f"# {line}".rstrip() for line in comments), *(silent + line for line in self.lines)])


@dataclass(frozen=True, slots=True)
class Review:
    """A file's blocks, in its order.

    Attributes:
        path: the file, for messages.
    """

    blocks: tuple[Block, ...]
    path: Path | None = None

    def of(self, status: Status) -> tuple[Block, ...]:
        """The blocks that stand there."""
        return tuple(block for block in self.blocks if block.status is status)

    def decide(self, left: str, status: Status) -> Review:
        """With the block of this left side accepted, rejected or put back to pending.

        Raises:
            LexiconError: no block has it, or this is nothing that a person decides.
        """
        if status in (Status.OWN, Status.LEARNED):
            raise LexiconError(f"a person accepts or rejects; {status.value!r} is no decision", self.path)
        words = keys(left)
        found = [block for block in self.blocks if block.lines and keys(block.left) == words]
        if not found:
            raise LexiconError(f"no entry looks for {left!r}", self.path)
        return replace(self, blocks=tuple(replace(b, status=status) if b in found else b for b in self.blocks))

    def __str__(self) -> str:
        """The file's text: the person's own first, then by left side."""
        own = [str(block) for block in self.blocks if block.status is Status.OWN]
        rest = sorted((b for b in self.blocks if b.status is not Status.OWN), key=lambda b: (keys(b.left), b.lines))
        return "\n\n".join([HEADER, *own, *map(str, rest)]) + "\n"


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry that is to be written: each form of its left side, what comes in, best first, and why."""

    forms: tuple[str, ...]
    right: tuple[tuple[str, float], ...]
    evidence: tuple[str, ...]


def evidence(parts: Sequence[tuple[str, int, int, float]], seen: int, example: str = "") -> tuple[str, ...]:
    """The comment lines of a learned entry.

    Args:
        parts: word, hit, tried and expected of each that comes in.
        seen: questions with the left side.
        example: a question and what it was answered with, as one line; left out where empty.
    """
    told = ", ".join(
        f"{word} {hit} of {tried} ({expected:.1f}{' without it' if not place else ''})"
        for place, (word, hit, tried, expected) in enumerate(parts)
    )
    lines = [f"{_LEARNED} {seen} questions; {told}"]
    return (*lines, f"{_EXAMPLE} {example}") if example else tuple(lines)


def proposed(model: str, count: int, example: str = "") -> tuple[str, ...]:
    """The comment lines of an entry that a model proposed."""
    lines = [f"{_PROPOSED} by {model}, for a word of {count} questions that no document holds"]
    return (*lines, f"{_EXAMPLE} {example}") if example else tuple(lines)


def read_review(path: Path | str) -> Review:
    """The blocks of a file; none where it is not there.

    Raises:
        LexiconError: it cannot be read, or a line of it is wrong.
    """
    path = Path(path)
    try:
        text = path.read_text("utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as exc:
        raise LexiconError(f"the lexicon cannot be read: {exc}", path) from exc
    list(parse(text, str(path)))  # a wrong line is told by its number in the file
    blocks = (_block(part) for part in _parts(text))
    return Review(tuple(block for block in blocks if block.lines or block.remarks), path)


def write_review(review: Review, path: Path | str) -> None:
    """Write the file in one rename.

    Raises:
        LexiconError: what it would hold is no lexicon.
    """
    path = Path(path)
    text = str(review)
    Lexicon.parse(text, str(path))
    part = path.with_name(path.name + ".part")
    part.write_text(text, "utf-8")
    part.replace(path)


def merged(review: Review, drafts: Sequence[Draft], asking: bool, anew: bool = True) -> Review:
    """The file with new drafts; what a person wrote, accepted or rejected stays.

    Args:
        asking: new entries are pending until a person accepts them.
        anew: the drafts are all that was learned; blocks of earlier learning that are not among
            them go. False: they are added, where nothing looks for the same yet.
    """
    decided = (Status.OWN, Status.ACCEPTED, Status.REJECTED) if anew else tuple(Status)
    stays = [block for block in review.blocks if block.status in decided]
    settled = {tuple(keys(left)) for block in stays for entry in block.entries for left in entry.left}
    before = {block.left: block for block in review.blocks if block.status not in decided}
    new: list[Block] = []
    told: dict[tuple[str, ...], tuple[str, ...]] = {}
    for draft in drafts:
        told |= {tuple(keys(form)): draft.evidence for form in draft.forms}
        block = _drafted(draft, settled)
        if block is not None:
            earlier = before.pop(block.left, None)
            waits = asking if earlier is None else earlier.status is Status.PENDING
            new.append(replace(_with_example(block, earlier), status=Status.PENDING if waits else Status.LEARNED))
            settled |= {tuple(keys(left)) for entry in block.entries for left in entry.left}
    kept = [_refreshed(block, told) for block in stays]
    left_over = [
        block
        for block in before.values()
        if tuple(keys(block.left)) not in settled and any(line.startswith(_PROPOSED) for line in block.evidence)
    ]
    return replace(review, blocks=(*kept, *new, *left_over))


def _drafted(draft: Draft, settled: set[tuple[str, ...]]) -> Block | None:
    """The block of a draft, forms that a person has decided about left out; None where that leaves nothing."""
    lines: dict[tuple[str, ...], str] = {}
    for form in draft.forms:
        words = tuple(keys(form))
        right = [Term(word, weight) for word, weight in draft.right if tuple(keys(word)) != words]
        if words and words not in settled and words not in lines and right:
            lines[words] = str(Entry((form,), (Term(form), *right)))
    return Block(tuple(lines.values()), Status.LEARNED, draft.evidence) if lines else None


def _with_example(block: Block, earlier: Block | None) -> Block:
    """With the earlier block's example where there is no new one, and its remarks."""
    if earlier is None:
        return block
    old = tuple(line for line in earlier.evidence if line.startswith(_EXAMPLE))
    has = any(line.startswith(_EXAMPLE) for line in block.evidence)
    return replace(block, evidence=block.evidence if has else block.evidence + old, remarks=earlier.remarks)


def _refreshed(block: Block, told: Mapping[tuple[str, ...], tuple[str, ...]]) -> Block:
    new = told.get(tuple(keys(block.left))) if block.lines else None
    if new is None or block.status is not Status.ACCEPTED:
        return block
    old = tuple(line for line in block.evidence if line.startswith(_EXAMPLE))
    return replace(block, evidence=new if len(new) > 1 else new + old)


def _parts(text: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for raw in text.removeprefix("\ufeff").splitlines():
        line = raw.strip()
        if line:
            parts[-1].append(line)
        elif parts[-1]:
            parts.append([])
    return [part for part in parts if part]


def _block(part: Sequence[str]) -> Block:
    lines, comments, silent = [], [], False
    for line in part:
        if line.startswith(_SILENT):
            lines.append(line.removeprefix(_SILENT).strip())
            silent = True
        elif not line.startswith("#"):
            lines.append(line)
        elif line != HEADER:
            comments.append(line.lstrip("#").strip())
    stated = next((c.removeprefix(_STATUS).strip() for c in comments if c.startswith(_STATUS)), "")
    told = tuple(c for c in comments if c.startswith(_EVIDENCE))
    remarks = tuple(c for c in comments if not c.startswith((*_EVIDENCE, _STATUS)))
    if stated in set(Status):
        status = Status(stated)
    else:
        status = Status.PENDING if silent else Status.LEARNED if told else Status.OWN
    return Block(tuple(lines), status, told, remarks)
