"""The lexicon: what people say, in the words that the corpus has. Enforced on every search.

What an entry does to a text:

- replaced (`a => b`): `a` goes, `b` stands in its place, and `b` is replaced in turn. An entry that
  would never come to rest is an error when the lexicon is made; words that several entries would
  pass round in a circle are left as they are. `phone => mobile phone` leaves "mobile phone" alone.
- widened (`a => a, b`) and equivalents (`a, b`): `a` stays and `b` is added at the end, once, if it
  is not there. What was added widens nothing further: a neighbour's neighbour is not asked for.

So applying twice is applying once. Entries match whole words, case and typographic marks aside, the
longest first; not across punctuation, not within quoted text, code or a URL, and never a part of a
hyphenated word or an identifier.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from dragoman.errors import LexiconError
from dragoman.rewriters.entries import Entry, Term, keys, parse, serialise
from dragoman.rewriters.matching import Found, Matcher, Rule
from dragoman.text import terms
from dragoman.types import Rewriting, RuleHit

ADDED_WEIGHT = 0.5  # of a word that came in beside the asker's own, where the file gives none
MOST_PASSES = 8  # replacements that make room for others; more is a circle
Weighted: TypeAlias = tuple[tuple[str, float], ...]
Idf: TypeAlias = Callable[[str], float]


@dataclass(frozen=True, slots=True)
class Applied:
    """What the lexicon made of a text.

    Attributes:
        text: the searched text; the same object where nothing hit.
        replaced: the same before related terms were added.
        terms: its words with weights; empty where all weigh alike.
        hits: every entry that bit, with its file and line.
    """

    text: str
    replaced: str
    terms: Weighted = ()
    hits: tuple[RuleHit, ...] = ()


class Lexicon:
    """Entries, ready to apply in time linear in the text however many they are.

    Raises:
        LexiconError: an entry that never settles, or a left side that is given twice.
    """

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.entries = tuple(entries)
        self._matcher = Matcher()
        rules = [rule for entry in self.entries for rule in self._insert(entry)]
        for rule in rules:
            self._settle(rule)

    @classmethod
    def parse(cls, text: str, path: str = "") -> Lexicon:
        """A lexicon from the text of a file; `path` is what records and errors call it."""
        return cls(parse(text, path))

    @classmethod
    def read(cls, path: Path | str) -> Lexicon:
        """A lexicon from a file in UTF-8.

        Raises:
            LexiconError: the file cannot be opened or decoded, or a line of it is wrong.
        """
        try:
            text = Path(path).read_text("utf-8")
        except OSError as error:
            raise LexiconError(f"the lexicon cannot be opened: {error.strerror}", path) from error
        except UnicodeDecodeError as error:
            raise LexiconError(f"not UTF-8 at byte {error.start}; save the file as UTF-8", path) from error
        return cls.parse(text, str(path))

    def serialise(self) -> str:
        """The text of a file that reads back to the same entries, comments included."""
        return serialise(self.entries)

    def save(self, path: Path | str) -> None:
        """Write the entries to a file."""
        Path(path).write_text(self.serialise(), "utf-8")

    @classmethod
    def merge(cls, *lexicons: Lexicon) -> Lexicon:
        """One of several. A left side that an earlier one holds is the earlier one's: give the hand-written first."""
        taken: set[tuple[str, ...]] = set()
        merged: list[Entry] = []
        for lexicon in lexicons:
            mine: set[tuple[str, ...]] = set()
            for entry in lexicon.entries:
                lefts = {left: tuple(keys(left)) for left in entry.left}
                free = tuple(left for left, words in lefts.items() if words not in taken)
                mine.update(lefts.values())
                if len(free) == len(lefts):
                    merged.append(entry)
                elif entry.explicit and free:
                    merged.append(replace(entry, left=free))
                else:  # equivalents keep the taken terms as what may come, not as what is looked for
                    merged += (replace(entry, left=(left,), explicit=True) for left in free)
            taken |= mine
        return cls(merged)

    def __len__(self) -> int:
        return len(self.entries)

    def apply(self, text: str, idf: Idf | None = None) -> Applied:
        """The text with every entry enforced.

        Args:
            idf: how telling a word is in the corpus. What came in says the asker's word again, so a
                rarer one counts for no more than the word it came in for.
        """
        found = self._matcher.scan(text)
        if not found:
            return Applied(text, text)
        if not text.isascii() and not unicodedata.is_normalized("NFC", text):
            return self.apply(unicodedata.normalize("NFC", text), idf)
        replaced, hits, weights, still = self._replaced(text, found)
        added: dict[str, dict[str, float]] = {}  # term -> word -> weight
        for each, new in _related(replaced, still):
            telling = max(map(idf, each.rule.left), default=0.0) if idf else 0.0
            for term in new:
                known = added.setdefault(term.text, {})
                for word in terms(term.text):
                    rarer = idf(word) if idf else 0.0
                    weight = _weight(term) * (telling / rarer if rarer > telling > 0 else 1.0)
                    known[word] = max(weight, known.get(word, 0.0))
            put = ", ".join(term.text for term in new)
            hits.append(RuleHit("lexicon.add", replaced[each.start : each.end], put, each.rule.entry.source))
        if not hits:
            return Applied(text, text)
        return Applied(_joined(replaced, added), replaced, _weighed(replaced, weights, added), tuple(hits))

    def _insert(self, entry: Entry) -> Iterator[Rule]:
        """The entry's rules, one for each left side, each in its place."""
        for left in entry.left:
            words = keys(left)
            others = tuple(term for term in entry.right if keys(term.text) != words)
            if not others:
                raise LexiconError(f"{left!r} is mapped to itself; take the line out", entry.path or None, entry.line)
            replaces = entry.explicit and len(others) == len(entry.right)
            rule = Rule(words, entry, " ".join(term.text for term in others) if replaces else "", others)
            self._place(rule, left)
            yield rule

    def _place(self, rule: Rule, left: str) -> None:
        *known, _ = self._matcher.place(rule)
        # What only adds may come from several lines; of two replacements, one would depend on their order.
        clash = next((o for o in known if o.put or rule.put or (o.entry.explicit and rule.entry.explicit)), None)
        if clash is not None:
            mine, theirs = rule.entry, clash.entry
            where = f"line {theirs.line}" if mine.path == theirs.path else theirs.source
            message = f"{left!r} is on a left side already ({where}); put both into one entry"
            raise LexiconError(message, mine.path or None, mine.line)

    def _settle(self, rule: Rule) -> None:
        """Resolve what a rule adds to what it would be replaced by; say so where a replacement never settles."""
        if rule.put and self._settled(rule.put) is None:
            message = f"'{' '.join(rule.left)} => {rule.put}' never settles: what it puts is replaced again and again"
            raise LexiconError(message + "; break the circle", rule.entry.path or None, rule.entry.line)
        if not rule.put:
            settled = ((term, self._settled(term.text)) for term in rule.right)
            resolved = (replace(term, text=text) for term, text in settled if text is not None)
            rule.right = tuple(term for term in resolved if keys(term.text) != rule.left)

    def _settled(self, text: str) -> str | None:
        """The text with every replacement made; None when that never ends."""
        for _ in range(MOST_PASSES):
            after, hits, _ = _pass(text, self._matcher.scan(text))
            if not hits:
                return text
            text = after
        return None

    def _replaced(
        self, text: str, found: Sequence[Found]
    ) -> tuple[str, list[RuleHit], dict[str, float], Sequence[Found]]:
        """The text with every replacement made, the hits and weights of these, and what in it is to be widened."""
        now, still, hits, weights = text, found, list[RuleHit](), dict[str, float]()
        for _ in range(MOST_PASSES):
            now, more, given = _pass(now, still)
            if not more:
                return now, hits, weights, still
            hits += more
            weights |= given
            still = self._matcher.scan(now)
        return text, [], {}, [each for each in found if not each.rule.put]


class LexiconRewriter:
    """Enforces a lexicon on the query and on every search, whoever wrote them.

    Replacements rewrite the query; what is added expands it, with the asker's words at weight 1 and
    what came in at the file's weight, `ADDED_WEIGHT` without one. A search keeps its origin, weight
    and retrievers, and its text stays short: what is added to it stands in its `terms` alone. It
    runs after the gate has settled a question, too.
    """

    gated = False

    def __init__(self, lexicon: Lexicon, name: str = "lexicon", idf: Idf | None = None) -> None:
        self.lexicon = lexicon
        self.name = name
        self._idf = idf

    def __call__(self, rewriting: Rewriting) -> Rewriting:
        """The rewriting with every entry enforced and noted."""
        query = self.lexicon.apply(rewriting.query, self._idf)
        hits = list(query.hits)
        after = rewriting
        if query.hits:
            weights = _carried(rewriting.terms, rewriting.query, query)
            if rewriting.expanded is None:
                after = after.rewrite(query.replaced)
            if rewriting.expanded is not None or weights or query.text != query.replaced:
                after = after.expand(query.text, weights)
        enforced = []
        for search in rewriting.searches:
            applied = self.lexicon.apply(search.text, self._idf)
            hits += applied.hits
            terms_now = _carried(search.terms, search.text, applied)
            enforced.append(replace(search, text=applied.replaced, terms=terms_now) if applied.hits else search)
        if not hits:
            return rewriting
        return replace(after, searches=()).add(enforced).note(*dict.fromkeys(hits))


def _weight(term: Term) -> float:
    return ADDED_WEIGHT if term.weight is None else term.weight


def _pass(text: str, found: Sequence[Found]) -> tuple[str, list[RuleHit], dict[str, float]]:
    """The text with one round of replacements, their hits, and the weights they give."""
    parts: list[str] = []
    hits: list[RuleHit] = []
    weights: dict[str, float] = {}
    at = 0
    for each in found:
        rule = each.rule
        if rule.put:
            parts += (text[at : each.start], rule.put)
            at = each.end
            hits.append(RuleHit("lexicon.replace", text[each.start : at], rule.put, rule.entry.source))
            for term in rule.right:
                if term.weight is not None:
                    weights.update(dict.fromkeys(terms(term.text), term.weight))
    return ("".join((*parts, text[at:])) if hits else text), hits, weights


def _related(text: str, found: Sequence[Found]) -> Iterator[tuple[Found, list[Term]]]:
    """What each rule adds: nothing that is there, and nothing for words that another one may have added."""
    if not found:
        return
    body = f" {' '.join(keys(text))} "
    brought = [[f" {' '.join(keys(term.text))} " for term in each.rule.right] for each in found]
    there = [
        (each.rule.left, words) for each, many in zip(found, brought, strict=True) for words in many if words in body
    ]
    for each, many in zip(found, brought, strict=True):
        mine = f" {' '.join(each.rule.left)} "
        if not any(mine in words and left != each.rule.left for left, words in there):
            new = [term for term, words in zip(each.rule.right, many, strict=True) if words not in body]
            if new:
                yield each, new


def _joined(text: str, added: Iterable[str]) -> str:
    """The text and what is added, with punctuation between: terms never match across it, so no new hits arise."""
    if not added:
        return text
    base = text.rstrip()
    return base + (" " if base[-1:] in ".?!,;:…" else ", ") + ", ".join(added)


def _weighed(text: str, given: Mapping[str, float], added: Mapping[str, Mapping[str, float]]) -> Weighted:
    """The words with weights, 1 where none is given, added ones behind; empty where all weigh 1."""
    if not given and not added:
        return ()
    weighed = dict.fromkeys(terms(text), 1.0)
    weighed.update((word, weight) for word, weight in given.items() if word in weighed)
    for words in added.values():
        for word, weight in words.items():
            weighed.setdefault(word, weight)
    return tuple(weighed.items()) if any(weight != 1.0 for weight in weighed.values()) else ()


def _carried(old: Weighted, before: str, applied: Applied) -> Weighted:
    """Weights that the text had already, for its words after the lexicon: those gone go, those new come in."""
    if not old:
        return applied.terms
    had, has = set(terms(before)), dict.fromkeys(terms(applied.text), 1.0) | dict(applied.terms)
    kept = {word: weight for word, weight in old if word not in had or word in has}
    return tuple((kept | {word: w for word, w in has.items() if word not in had and word not in kept}).items())
