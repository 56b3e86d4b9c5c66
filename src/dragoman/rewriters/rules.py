"""Takes conversational noise out of a question, without a model.

Greetings, courtesy, filler and what makes a question of a need go; everything else stays as it
stands, byte for byte. Nothing is taken out of quoted text, code or a URL, and no phrase of the data
files holds a number, an identifier or a negation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from dragoman.rewriters.cleaning import Cleaning, clean, is_name
from dragoman.rewriters.context import asks, spare
from dragoman.rewriters.noise import Noise, languages, load
from dragoman.rewriters.sentences import Sentence, sentences
from dragoman.text import stop_words, words
from dragoman.types import Rewriting, RuleHit

MOST_PASSES = 12  # what is taken out may leave another phrase behind, seldom more than one
MOST_SIGNATURE, MOST_NAMES = 3, 5  # lines under a closing, and words and marks in each
ONLY_NOISE = "only a greeting"
AUTO = "auto"
MOST_HEARD = 500  # characters that tell a language
_KEPT = 256  # texts


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A text without its noise; the same text where there is none.

    Attributes:
        hits: what was taken out, and by which line of which file.
        only_noise: nothing else is in it, so it was left as it was.
        focused: sentences that only give the circumstances were taken out as well.
    """

    text: str
    hits: tuple[RuleHit, ...] = ()
    only_noise: bool = False
    focused: bool = False


class Rules:
    """The noise rules of a language as a rewriter.

    Args:
        language: a language that there is a file for, or "auto" to go by each question's words.

    Raises:
        ValueError: there is no file for the language.
    """

    gated = False

    def __init__(self, language: str = "en", name: str = "rules") -> None:
        self.name = name
        self.language = language
        if language != AUTO:
            load(language)

    def __call__(self, rewriting: Rewriting) -> Rewriting:
        """The rewriting without noise in its query; each removal noted."""
        cleaned = self.clean(rewriting.query)
        if cleaned.only_noise:
            return rewriting.note(ONLY_NOISE)
        if not cleaned.hits:
            return rewriting
        after = rewriting.rewrite(cleaned.text) if cleaned.focused else rewriting.clean(cleaned.text)
        return after.note(*cleaned.hits)

    def clean(self, text: str) -> Cleaned:
        """The text without its noise. Cleaning what was cleaned changes nothing."""
        return _cleaned(text, guess_language(text) if self.language == AUTO else self.language)

    def only_noise(self, text: str) -> bool:
        """Whether there is nothing in the text but greeting and courtesy: nothing to search for."""
        return self.clean(text).only_noise


@lru_cache(maxsize=_KEPT)
def _cleaned(text: str, language: str) -> Cleaned:
    """Asked for by the rules and by the gate."""
    noise = load(language)
    hits: list[RuleHit] = []
    focused = False
    for _ in range(MOST_PASSES):
        cut = list(sentences(text))
        after, more = _pass(text, cut, noise)
        if not more:
            after, more = _focus(text, cut, noise)
            focused = focused or bool(more)
        if not more:
            break
        if not after:
            return Cleaned(text, tuple(hits), not hits, focused)
        hits += more
        text = after
    return Cleaned(text, tuple(hits), focused=focused)


def guess_language(text: str) -> str:
    """The language, of those with a file, that most words of the text's beginning are common in; English in doubt."""
    heard = words(text[:MOST_HEARD])
    common: dict[str, int] = {}
    for code in languages():
        noise, stop = load(code), stop_words(code)
        common[code] = sum((word in stop) + noise.noise.begins(noise.symbols_of(word)) for word in heard)
    best = max(common, key=lambda code: (common[code], code == "en"))
    return best if common[best] else "en"


def _pass(text: str, cut: Sequence[Sentence], noise: Noise) -> tuple[str, list[RuleHit]]:
    """One round: the text without what is noise in it as it stands, and what that was."""
    shouted = text.isupper()
    asked = max((number for number, pieces in enumerate(cut) if asks(text, pieces)), default=-1)
    found = [
        clean(text, pieces, noise, shouted, told=number < asked and not asks(text, pieces))
        for number, pieces in enumerate(cut)
    ]
    if not any(cleaning.whole or cleaning.removals for cleaning in found):
        return text, []
    signed = _signature(text, found)
    kept = [number for number, cleaning in enumerate(found) if cleaning.whole is None and number < signed]
    hits: list[RuleHit] = []
    parts: list[str] = []
    at = 0
    for number, cleaning in enumerate(found):
        after = found[number + 1].pieces[0].start if number + 1 < len(found) else len(text)
        if number >= signed:
            cuts = [(cleaning.pieces[0].start, after, "closing.name", "")]
        elif cleaning.whole is not None:
            phrase = cleaning.whole
            cuts = [(cleaning.pieces[0].start, after, phrase.group.id, phrase.source)]
        else:
            cuts = list(_cuts(text, cleaning, ends=number == kept[-1]))
        for start, end, rule, source in sorted(cuts):
            joins = start > 0 and text[start - 1].isalnum() and text[end : end + 1].isalnum()  # "B2,uh,3" is not B23
            parts += [text[at:start], " " if joins else ""]
            hits.append(RuleHit(rule, text[start:end].strip(), "", source))
            at = end
    return "".join([*parts, text[at:]]).strip() if kept else "", hits


def _focus(text: str, cut: Sequence[Sentence], noise: Noise) -> tuple[str, list[RuleHit]]:
    """A long message without the sentences that its asking ones do not need, and which those were."""
    idle = spare(text, cut, noise)
    if not idle:
        return text, []
    starts = [pieces[0].start for pieces in cut] + [len(text)]
    parts = [(number in idle, text[starts[number] : starts[number + 1]]) for number in range(len(cut))]
    hits = [RuleHit(f"{noise.language}.context", part.strip()) for goes, part in parts if goes]
    return "".join(part for goes, part in parts if not goes).strip(), hits


def _cuts(text: str, cleaning: Cleaning, ends: bool) -> Iterator[tuple[int, int, str, str]]:
    """The characters that go from a sentence of which something stays: (from, to, rule, source)."""
    pieces, count = cleaning.pieces, len(cleaning.pieces)
    for first, last, phrase in cleaning.removals:
        if first and (first >= cleaning.last or last == count or pieces[first].mark):  # the space before it goes along
            start, end = pieces[first - 1].end, pieces[last - 1].end
        else:
            start, end = pieces[first].start, pieces[last].start if last < count else pieces[-1].end
        yield start, end, phrase.group.id, phrase.source
    if cleaning.framed and ends and cleaning.stop < count:
        stop = "".join(text[piece.start : piece.end] for piece in pieces[cleaning.stop :])
        if "?" in stop:
            frame = next(removal.phrase for removal in cleaning.removals if removal.phrase.group.frame)
            yield pieces[cleaning.stop - 1].end, pieces[-1].end, frame.group.id, frame.source
            if text[pieces[0].start] == "¿":
                yield pieces[0].start, pieces[0].end, frame.group.id, frame.source


def _signature(text: str, found: Sequence[Cleaning]) -> int:
    """Where a name alone stands under a closing at the end: the first sentence of it; their number where none does."""
    first = len(found)
    while first and first > len(found) - MOST_SIGNATURE and _is_signature(text, found[first - 1]):
        first -= 1
    closing = found[first - 1] if first else None
    groups = [closing.whole.group] if closing and closing.whole else []
    groups += [removal.phrase.group for removal in closing.removals if removal.last == closing.stop] if closing else []
    return first if any("end" in group.places for group in groups) else len(found)


def _is_signature(text: str, cleaning: Cleaning) -> bool:
    if cleaning.whole is not None or len(cleaning.pieces) > MOST_NAMES:
        return False
    return all(piece.mark or is_name(text[piece.start : piece.end]) for piece in cleaning.pieces)
