"""Code behind the prompt: a rule in a prompt is a request, a guard holds it.

In this order: shape, count, length, language, content, corpus, then the profile's own rules. Every
guard repairs where it can and turns down where it cannot, and says so in the step's record. What
has passed them once passes them again unchanged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dragoman.rewriters import replies
from dragoman.rewriters.guard_checks import ARTICLE, HOUSE, ORDER, PROSE, Asked, Case, Check, House, No, novel, spoken
from dragoman.rewriters.guard_rules import settle
from dragoman.rewriters.language import foreign_language, foreign_words
from dragoman.text import terms
from dragoman.types import Rewriting, RuleHit, Search

MOST_CONSIDERED = 20  # of the searches in one reply; what comes after is not even read
MOST_ROUNDS = 5  # what one guard leaves may be another's; a search that five rounds still change is none
LONGEST_PASSAGE = 4000
MOST_TURNS = 6  # of the history, the latest, whose words and figures count as the asker's
# Who wrote a search of these origins is this package or the corpus: only shape and the own rules hold it.
TRUSTED = frozenset({"question", "rewritten", "expanded", "memory", "feedback", "headings", "lexicon", "spelling"})


@dataclass(frozen=True, slots=True)
class Kept:
    """What the guards let through, best first, what they did, and why they turned the others down."""

    texts: tuple[str, ...]
    hits: tuple[RuleHit, ...] = ()
    turned_down: tuple[str, ...] = ()


class Guards:
    """Holds searches to what a profile allows; itself a rewriter that holds every search so far.

    Args:
        house: what the profile allows.
        characters: the most a search may have; longer is cut at a word, three times longer turned down.
        count: the most searches of one reply.

    Attributes:
        bites: how often each guard and rule bit, by its id.
    """

    name = "guards"
    gated = False

    def __init__(self, house: House | None = None, *, characters: int = 80, count: int = 2) -> None:
        if characters < 1 or count < 1:
            raise ValueError(f"characters ({characters}) and count ({count}) are at least 1")
        self.house = house or House()
        self.characters = characters
        self.count = count
        self.bites: Counter[str] = Counter()

    def __call__(self, rewriting: Rewriting) -> Rewriting:
        """With every search repaired or taken out, whoever wrote it; the question itself is not touched."""
        if not rewriting.searches:
            return rewriting
        turns = (rewriting.question.history or ())[-MOST_TURNS:]
        asked = Asked(rewriting.question.text, "\n".join(turn.text[:LONGEST_PASSAGE] for turn in turns))
        kept: list[Search] = []
        hits: list[RuleHit] = []
        for search, checks in [(search, _checks(search)) for search in rewriting.searches]:
            if checks is HOUSE:  # these look at nothing that was asked
                case = Case(asked, LONGEST_PASSAGE, frozenset(), frozenset(), frozenset())
            else:
                case = self._case(asked, self.characters if checks is ORDER else LONGEST_PASSAGE)
            text, bit, _ = self._hold(search.text, case, checks)
            hits += bit
            if text:
                kept.append(search if text == search.text else _said(search, text))
        if kept == list(rewriting.searches):
            return rewriting.note(*hits)
        return replace(rewriting, searches=()).add(kept).note(*hits)

    def searches(
        self, texts: Sequence[str], asked: Asked, *, count: int | None = None, characters: int | None = None
    ) -> Kept:
        """A reply's texts, held: at most `count` searches, best first, without duplicates.

        Each line of a text counts as a search of its own. What only differs in case, space or marks
        is the same.
        """
        case = self._case(asked, characters or self.characters)
        most = count or self.count
        kept: list[str] = []
        hits: list[RuleHit] = []
        reasons: list[str] = []
        seen: set[tuple[str, ...]] = set()
        for line in self._lines(texts, hits, reasons):
            if len(kept) == most:
                hits.append(self._bite("guard.count", line, "", f"more than {most}"))
                break
            text, bit, reason = self._hold(line, case, ORDER)
            hits += bit
            key = tuple(terms(text))
            if not text:
                reasons.append(reason)
            elif key in seen:
                hits.append(self._bite("guard.count", line, "", "the same search again"))
            else:
                seen.add(key)
                kept.append(text)
        return Kept(tuple(kept), tuple(hits), tuple(reasons))

    def _lines(self, texts: Sequence[str], hits: list[RuleHit], reasons: list[str]) -> list[str]:
        found: list[str] = []
        for text in texts[:MOST_CONSIDERED]:
            lines = replies.lines(text)
            found += lines
            if not lines and text.strip():
                reason = "too long for a search" if len(text) > replies.MOST_CHARACTERS else "nothing but talk"
                hits.append(self._bite("guard.shape", text, "", reason))
                reasons.append(reason)
        return found[:MOST_CONSIDERED]

    def rewritten(self, text: str, asked: Asked, characters: int) -> Kept:
        """A question said again: one text, with the question's numbers, identifiers and negation, and little new."""
        lines = [line for line in replies.lines(text) if not replies.is_like("closing", line)]
        said = " ".join(" ".join(lines).split())
        reason = self._not_said_again(said, asked, characters)
        if reason:
            return Kept((), (self._bite("guard.content", said, "", reason),), (reason,))
        return Kept((said,))

    def _not_said_again(self, said: str, asked: Asked, characters: int) -> str:
        """Why `said` is not the question said again; empty when it is."""
        talk = replies.talk(said)
        if not said or len(said) > characters:
            return f"{len(said)} characters, expected 1 to {characters}"
        if talk and replies.talk(asked.text) != talk:
            return f"{ARTICLE[talk]}, not the question said again"
        strange = foreign_language(said, (self.house.language.question,)) or (
            foreign_words(said, (self.house.language.question,), spoken(asked.said)) and "another script"
        )
        if strange and not foreign_language(asked.text, (self.house.language.question,)):
            return f"in another language ({strange})"
        lost = replies.lost(asked.text, said, asked.said, self.house.language.question)
        if lost:
            return lost
        new = replies.figures(said) - replies.figures(asked.said, self.house.language.question)
        if new:
            return f"the number {min(new)} is new"
        return novel(said, asked, self.house.language.question)

    def passage(self, text: str, asked: Asked, characters: int) -> Kept:
        """A passage that would answer: prose of at most `characters`, cut at a word."""
        lines = [line for line in replies.lines(text[:LONGEST_PASSAGE]) if not replies.is_like("closing", line)]
        said = " ".join(" ".join(lines).split())
        talk = replies.talk(said)
        if talk in ("refusal", "instruction") or not said:
            reason = ARTICLE.get(talk, "empty")
            return Kept((), (self._bite("guard.shape", said, "", reason),), (reason,))
        case = self._case(asked, characters)
        held, hits, reason = self._hold(replies.cut(said, characters), case, PROSE)
        return Kept((held,) if held else (), tuple(hits), () if held else (reason,))

    def _case(self, asked: Asked, characters: int) -> Case:
        return Case.of(asked, characters, self.house.language.question)

    def _hold(self, text: str, case: Case, checks: Sequence[tuple[str, Check]]) -> tuple[str, list[RuleHit], str]:
        """The text after the checks, what they did, and why it was turned down where it is empty."""
        hits: list[RuleHit] = []
        for _ in range(MOST_ROUNDS):
            before = text
            for name, check in checks:
                try:
                    after, reason = check(self.house, text, case)
                except No as no:
                    hits.append(self._bite(f"guard.{name}", text, "", str(no)))
                    return "", hits, str(no)
                if after != text and name != "own":
                    hits.append(self._bite(f"guard.{name}", text, after, reason))
                elif after != text:
                    hits += self._own_hits(text)
                text = after
            if text == before:
                return text, hits, ""
        hits.append(self._bite("guard.shape", text, "", "it never comes to rest"))
        return "", hits, "it never comes to rest"

    def _own_hits(self, text: str) -> list[RuleHit]:
        hits = settle(text, self.house.rules)[1]
        self.bites.update(hit.rule for hit in hits)
        return hits

    def _bite(self, rule: str, found: str, put: str, reason: str) -> RuleHit:
        self.bites[rule] += 1
        return RuleHit(rule, found[:200], put[:200], reason)


def _said(search: Search, text: str) -> Search:
    """The search in other words; weights stay with the words that are still there."""
    if not search.terms:
        return replace(search, text=text)
    had, has = set(terms(search.text)), terms(text)
    kept = {word: weight for word, weight in search.terms if word not in had or word in has}
    new = {word: 1.0 for word in has if word not in had}
    return replace(search, text=text, terms=tuple((kept | new).items()))


def _checks(search: Search) -> tuple[tuple[str, Check], ...]:
    """Which guards hold a search by who wrote it: prose for the meaning retriever may be long."""
    if search.origin in TRUSTED or search.terms:
        return HOUSE
    return PROSE if search.on else ORDER
