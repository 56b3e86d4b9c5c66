"""Pairs in, a lexicon file out. Pairs given before are kept as counted words and need not be given again.

The translations are found anew from all of them each time, which takes seconds, so that the entries
are the same in whichever parts the pairs came.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.errors import CollectionError
from dragoman.learn.bags import FOLDS, Bags
from dragoman.learn.choose import Chosen, Kept, choose
from dragoman.learn.counts import Counts
from dragoman.learn.file import Draft, Status, evidence, merged, read_review, write_review
from dragoman.learn.pairs import Pair
from dragoman.learn.translation import link, translate

STATE = ".learned.npz"
_EXAMPLE = 100  # characters of a question or a search that an example shows


@dataclass(frozen=True, slots=True)
class Learned:
    """What came of it.

    Attributes:
        pairs, new: pairs learned from in all, and those not seen before.
        kept: the entries that pay, by their left sides.
        tried: words that came in for a try; those that gained nothing on held-back pairs are not kept.
        pending: entries that wait for a person.
        added, gone: left sides that the file has and had not, and the other way round.
    """

    pairs: int
    new: int
    kept: tuple[Kept, ...]
    tried: int
    pending: int
    added: tuple[str, ...]
    gone: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        """In a sentence or two."""
        words = sum(len(each.right) for each in self.kept)
        told = (
            f"{self.new:,} new of {self.pairs:,} pairs; of {self.tried:,} translations {words:,} pay on held-back "
            f"pairs, in {len(self.kept):,} entries; {len(self.added):,} new, {len(self.gone):,} gone"
        )
        waiting = f"; {self.pending:,} wait for review" if self.pending else ""
        return f"{told}{waiting} ({self.seconds:.1f} s)"


def learn(
    pairs: Iterable[Pair],
    lexicon: Path | str,
    *,
    language: str = "en",
    review: bool = False,
    mask: Callable[[str], str] = str,
    anew: bool = False,
) -> Learned:
    """Learn from pairs and write the lexicon; what is learned is kept beside it for the next time.

    The file beside it, `NAME.learned.npz`, holds counted words and no text. A pair that was given
    before counts once.

    Args:
        lexicon: the file; a person's own entries, decisions and remarks in it stay.
        review: new entries wait, not in force, until a person accepts them.
        mask: what the questions of examples go through.
        anew: from these pairs alone; entries that only earlier ones teach go.

    Raises:
        LexiconError: the file as it is cannot be read.
        CollectionError: what was kept beside it is damaged, of another language, or missing though
            earlier entries rest on it; and whatever reading the pairs raises. The lexicon is then as it was.
    """
    began = time.perf_counter()
    path = Path(lexicon)
    state = path.with_name(path.name + STATE)
    before = read_review(path)
    counts = Counts(language) if anew else Counts.load(state, language)
    new = counts.add(pairs)
    bags = counts.bags()
    chosen = _chosen(bags) if len(bags) else Chosen((), 0)
    examples = _examples(bags, new, chosen.kept, mask)
    drafts = [_draft(each, examples.get(each.source, "")) for each in chosen.kept]
    after = merged(before, drafts, review)
    had, has = ({block.left for block in each.blocks if block.lines} for each in (before, after))
    if had - has and not anew and not state.exists():
        raise CollectionError(
            f"not there, and {len(had - has):,} learned entries of {path.name} rest on what it kept; put the file "
            "back, give all pairs again, choose another lexicon, or let these entries go with --anew",
            state,
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    counts.save(state)  # first: where the process dies here, the entries are still known
    write_review(after, path)
    return Learned(
        pairs=len(bags),
        new=len(new),
        kept=chosen.kept,
        tried=chosen.tried,
        pending=len(after.of(Status.PENDING)),
        added=tuple(sorted(has - had)),
        gone=tuple(sorted(had - has)),
        seconds=time.perf_counter() - began,
    )


def _chosen(bags: Bags) -> Chosen:
    links, n_said = link(bags), len(bags.said)
    full = translate(links, n_said)
    return choose(bags, links, full, [translate(links, n_said, fold) for fold in range(FOLDS)])


def _draft(kept: Kept, example: str) -> Draft:
    right = tuple((target.word, target.weight) for target in kept.right)
    parts = [(target.word, target.hit, target.tried, target.expected) for target in kept.right]
    return Draft(kept.forms, right, evidence(parts, kept.seen, example))


def _examples(bags: Bags, new: Sequence[Pair], kept: Sequence[Kept], mask: Callable[[str], str]) -> Mapping[int, str]:
    """For each entry's source, a new pair that shows it: with its best word where there is one, and short."""
    first = len(bags) - len(new)
    showing: dict[int, list[int]] = {}
    for place in range(len(new)):
        for source in bags.sources[first + place].tolist():
            showing.setdefault(source, []).append(place)
    examples: dict[int, str] = {}
    for each in kept:
        places = showing.get(each.source)
        if places:
            best = min(places, key=lambda place: _order(new[place], each.right[0].word, place))
            pair = new[best]
            said = next((text for text in pair.said if each.right[0].word in text.casefold()), pair.said[0])
            examples[each.source] = f'"{_short(mask(pair.question))}" -> "{_short(mask(said))}"'
    return examples


def _order(pair: Pair, word: str, place: int) -> tuple[bool, int, int]:
    return not any(word in text.casefold() for text in pair.said), len(pair.question), place


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _EXAMPLE else line[: _EXAMPLE - 1].rstrip() + "…"
