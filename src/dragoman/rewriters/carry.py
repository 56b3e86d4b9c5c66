"""A follow-up made stand-alone without a model: the telling words of earlier turns, carried into it.

After Historical Query Expansion (Yang, Lin, Yang, Lin and Tsai, TREC CAsT 2019), which carries the
words of earlier turns that tell most, and as QuReTeC (Voskarides et al., SIGIR 2020) asks: which of
the words said before belong to this question? Here by rules: what points back says that something is
missing; phrases of the turns before it, later and oftener said ones first, say what. The turns come
with the question; nothing is kept between questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dragoman.rewriters.pointing import Pointing, pointing
from dragoman.text import Token, fold, stop_words, terms, tokens
from dragoman.types import Message, Rewriting

MOST_TURNS = 12  # looked at, the latest
MOST_CHARACTERS = 600  # of one turn; a subject is named early
UNNAMED = 0.3  # what a phrase that is no name counts where a person is meant
LONGEST_PHRASE = 5  # words; more is a clause, not a name for something
NOT_A_CONVERSATION, FIRST_TURN = "not a conversation", "the first turn"
STANDS_ALONE, NOTHING = "it stands alone", "nothing to carry"
Weigh = Callable[[str], float]


@dataclass(frozen=True, slots=True)
class CarrySettings:
    """How much is carried; the defaults were set on one half of two collections, see `bench/conversation.py`.

    Attributes:
        decay: what a phrase counts one of the asker's turns further back; 1: how often it was said is all.
        answered: what a phrase of an answer counts beside one of the asker's.
        subject: added for a phrase of the turn that brought the subject up.
        name: what a phrase counts with a capital letter in every word.
        phrases: carried at most where the question leaves out most of what it asks.
        loose: what a phrase counts that follows no article and no preposition, and may be a verb.
        of: what a phrase counts that a sentence is about: behind "of" or "about".
        shift: what a phrase counts that was said before the subject was last changed.
        few: telling words up to which a question that names nothing is taken for a follow-up.
        pointed: telling words up to which one that points back ("what else", "and") is.
    """

    decay: float = 1.0
    answered: float = 0.3
    subject: float = 0.3
    name: float = 3.0
    loose: float = 0.4
    of: float = 2.0
    shift: float = 0.75
    pointed: int = 3
    phrases: int = 2
    few: int = 1


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words of a turn that name something.

    Attributes:
        text: as they stand.
        key: folded, for comparing.
        named: they are a name, by their capitals.
        after: what stands before them: `of` (or "about"), `name` (an article, a preposition), or
            nothing that tells a noun.
    """

    text: str
    key: tuple[str, ...]
    named: bool
    after: str = ""


@dataclass(frozen=True, slots=True)
class Missing:
    """What a question leaves out.

    Attributes:
        place: the word that stands for it; None: it is added at the end.
        owns: it stands for somebody's.
        person: a person is meant.
        opens: it goes on from the turn before ("what about ...") and leaves out most of it.
    """

    place: Token | None = None
    owns: bool = False
    person: bool = False
    opens: bool = False


class Carry:
    """Carries what was spoken of into a question that leaves it out.

    A stand-alone question passes unchanged, byte for byte, and so does one that begins a new
    subject, a first turn, and a question that is no conversation's.

    Args:
        weigh: a word -> how much it tells, 1 on average, as a vocabulary's idf; None: all alike.
        language: whose words point back; a language without a file carries nothing.
    """

    name = "carry"

    def __init__(self, weigh: Weigh | None = None, language: str = "en", settings: CarrySettings | None = None) -> None:
        self.language = language
        self.settings = settings or CarrySettings()
        self._weigh = weigh or (lambda _: 1.0)
        self._stop = stop_words(language)

    def __call__(self, rewriting: Rewriting) -> Rewriting:
        """The rewriting with the question made stand-alone; the reason noted where nothing changes."""
        history, how = rewriting.question.history, pointing(self.language)
        if not history or how is None:
            return rewriting.note(NOT_A_CONVERSATION if history is None else FIRST_TURN if not history else NOTHING)
        query = rewriting.query
        missing = self._missing(query, how)
        if missing is None:
            return rewriting.note(STANDS_ALONE)
        carried = self._carried(query, missing, history[-MOST_TURNS:], how)
        if not carried:
            return rewriting.note(NOTHING)
        return rewriting.rewrite(_put(query, missing, carried, how)).note("carried: " + ", ".join(carried))

    def _missing(self, text: str, how: Pointing) -> Missing | None:
        """What the text leaves out; None: it stands alone."""
        folded = fold(text)
        idle = [match.span() for match in how.idle.finditer(folded)] if len(folded) == len(text) else []
        found = list(tokens(text))
        points = bound = False
        for at, token in enumerate(found):
            word = fold(token.text)
            bound = bound or (at > 0 and token.text[0].isupper() and self._tells(word, how))
            if bound or any(start <= token.start < end for start, end in idle):
                continue  # what was named in the question itself is what the word behind it means
            following = fold(found[at + 1].text) if at + 1 < len(found) else ""
            if word in how.whose and (word not in how.stands_for) and self._tells(following, how):
                return Missing(token, owns=True, person=word in how.person)
            if word in how.stands_for or word in how.whose:
                if word in how.demonstrative and self._tells(following, how):  # "this album"
                    points = True
                    continue
                return Missing(token, person=word in how.person)
            points = points or word in how.points
        telling = [token for token in found if self._tells(fold(token.text), how)]
        opens = bool(how.opens.match(folded))
        if (points or opens) and len(telling) <= self.settings.pointed:
            return Missing(opens=opens)
        if len(telling) > self.settings.few:
            return None
        definite = any(fold(token.text) in how.definite for token in found)
        return None if how.introduces.match(folded) and not definite and telling else Missing()

    def _tells(self, word: str, how: Pointing) -> bool:
        return bool(word) and word not in self._stop and word not in how.empty

    def _carried(self, query: str, missing: Missing, history: Sequence[Message], how: Pointing) -> list[str]:
        """The phrases to carry, best first."""
        said = set(terms(query))
        weights: dict[tuple[str, ...], float] = {}
        texts: dict[tuple[str, ...], str] = {}
        for phrase, weight in self._weighed(history, how):
            if missing.person and not phrase.named:
                weight *= UNNAMED
            known = next((key for key in weights if set(phrase.key) <= set(key) or set(key) <= set(phrase.key)), None)
            key = phrase.key if known is None else max(known, phrase.key, key=len)
            weights[key] = weights.pop(known, 0.0) + weight if known is not None else weight
            texts[key] = texts.get(key, phrase.text) if known == key else phrase.text
        ranked = sorted(weights, key=lambda key: -weights[key])
        most = self.settings.phrases if missing.opens else 1
        return [texts[key] for key in ranked if not set(key) <= said][:most]

    def _weighed(self, history: Sequence[Message], how: Pointing) -> Iterator[tuple[Phrase, float]]:
        """The phrases of the turns since the subject was brought up, with what they count."""
        settings = self.settings
        asked = [at for at, turn in enumerate(history) if turn.role == "user"]
        subject = next((at for at in reversed(asked) if self._missing(history[at].text, how) is None), 0)
        for at, turn in enumerate(history):
            age = sum(other > at for other in asked)
            weight = settings.decay**age * (1.0 if turn.role == "user" else settings.answered)
            weight *= settings.shift if at < subject else 1.0
            for phrase in self._phrases(turn.text[:MOST_CHARACTERS], how):
                tells = sum(map(self._weigh, phrase.key)) / len(phrase.key)
                extra = settings.subject if at == subject else 0.0
                yield phrase, (weight + extra) * tells * self._standing(phrase)

    def _standing(self, phrase: Phrase) -> float:
        settings = self.settings
        after = {"": settings.loose, "of": settings.of}.get(phrase.after, 1.0)
        return after * (settings.name if phrase.named else 1.0)

    def _phrases(self, text: str, how: Pointing) -> Iterator[Phrase]:
        """Runs of telling words, none across a mark, names apart from what stands around them."""
        run: list[Token] = []
        last = before = ""
        for token in [*tokens(text), None]:
            tells = token is not None and self._tells(fold(token.text), how)
            if run and (token is None or not tells or _parts(text, run[-1], token)):
                after = "of" if before in how.before_subjects else "name" if before in how.before_names else ""
                yield from _phrase(text, run, after)
                run = []
            if tells and token is not None:
                before = before if run else last
                run.append(token)
            last = fold(token.text) if token is not None else ""


def _parts(text: str, one: Token, other: Token) -> bool:
    """Whether two neighbours belong to different phrases: a mark stands between them, or only one is a name's."""
    return not text[one.end : other.start].isspace() or one.text[0].isupper() != other.text[0].isupper()


def _phrase(text: str, run: Sequence[Token], after: str) -> Iterator[Phrase]:
    run = run[-LONGEST_PHRASE:]
    said = text[run[0].start : run[-1].end].removesuffix("'s").removesuffix("’s")
    key = tuple(terms(said))
    if not key:
        return
    opens = not text[: run[0].start].rstrip(" \"'“‘(") or text[: run[0].start].rstrip()[-1:] in (".", "?", "!")
    whole = run[0].start == 0 and not text[run[-1].end :].strip("?!. ")
    named = run[0].text[0].isupper() and (len(run) > 1 or whole or not opens)
    yield Phrase(said, key, named, "name" if named and not after else after)


def _put(query: str, missing: Missing, carried: Sequence[str], how: Pointing) -> str:
    said = " ".join(carried)
    if missing.place is None:
        body = query.rstrip()
        bare = body.rstrip("?!. ")
        return f"{bare} {said}{body[len(bare) :]}"
    ending = how.ending if missing.owns else ""
    return query[: missing.place.start] + said + ending + query[missing.place.end :]
