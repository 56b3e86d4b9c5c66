"""Feedback: what the first hits have in common, searched once more.

Words are weighted by a relevance model (RM3; Lavrenko and Croft 2001, Abdul-Jaleel et al. 2004):

    P(w | R) = sum over hits d of score(d) * tf(w, d) / |d|, scores scaled to sum to 1
    weight(w) = own * P(w | query) + (1 - own) * P(w | R), over the heaviest words

and the meaning is the mean direction of the first hits (Rocchio 1971, without the question). Both go into
one search. Whether at all is decided per question, by its length and by how well the first hits agree
among themselves (their mean pairwise cosine). Measured over five collections: one to three telling words
leave open what is meant and gain from their neighbourhood unless it is none (.4); four or five gain where
the hits agree well (.6); a longer question knows better than its first hits, and no score gap, overlap or
cohesion of the first pass tells those that would gain from those that would lose.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

from dragoman import fusion
from dragoman.errors import RetrievalError
from dragoman.fusion import Fusion
from dragoman.rewriters.gate import codes
from dragoman.search import Pool, current_pool, plan
from dragoman.text import stemmer, stems, stop_words, terms
from dragoman.types import Hit, Rewriting, Search

Weighted: TypeAlias = tuple[tuple[str, float], ...]

_READ = 6_000  # characters of one hit: a long section's beginning says what it is about
_STEMMED = 4  # times as many of the heaviest words as are wanted: stemming all of them costs most of the time
_SHOWN = 10  # words that stand for the search where an engine takes text only


@dataclass(frozen=True, slots=True)
class FeedbackSettings:
    """How much is fed back, and when.

    Attributes:
        short: telling words of a question that leaves open what is meant.
        longest: telling words beyond which nothing is fed back.
        hits: first hits that are read.
        words: heaviest words searched.
        own: the question's own share of the words' weight.
        weight: the search's weight in the fusion.
        agreement: the mean pairwise cosine that the first hits of a short question must reach, where
            vectors are at hand.
        strict: the same for a question between `short` and `longest`; without vectors, none is fed back.
    """

    short: int = 3
    longest: int = 5
    hits: int = 3
    words: int = 20
    own: float = 0.2
    weight: float = 0.5
    agreement: float = 0.4
    strict: float = 0.6

    def __post_init__(self) -> None:
        for name, least in (("short", 1), ("words", 1), ("longest", self.short), ("hits", 2)):
            if getattr(self, name) < least:
                raise ValueError(f"{name!r} is {getattr(self, name)}, expected {least} or more")
        if not (0 <= self.own <= 1 and self.weight > 0):
            raise ValueError(f"'own' is {self.own}, expected 0 to 1; 'weight' is {self.weight}, expected above 0")


@runtime_checkable
class Centred(Protocol):
    """A retriever that knows its passages' vectors: doc_ids -> their mean direction, their agreement."""

    centre: Callable[[Sequence[str]], tuple[tuple[float, ...], float]]


class Feedback:
    """The first hits' words and direction as one more search.

    Reads the rankings of the question being searched, which are fused in the end all the same; outside
    a search it does nothing. It runs after the gate settled a question too: a keyword in the corpus's own
    words is as short as any other.
    """

    gated = False

    def __init__(
        self,
        settings: FeedbackSettings | None = None,
        fuse: Fusion = fusion.standardised,
        language: str = "en",
        name: str = "feedback",
    ) -> None:
        self.name = name
        self.settings = settings or FeedbackSettings()
        self._fuse = fuse
        self._language = language

    def __call__(self, rewriting: Rewriting) -> Rewriting | Awaitable[Rewriting]:
        """The rewriting with one more search, or unchanged with the reason noted."""
        query = rewriting.query
        telling = len(set(stems(query, self._language)))
        if not 1 <= telling <= self.settings.longest:
            return rewriting.note(f"{telling} telling words, of 1 to {self.settings.longest} that are fed back")
        if codes(query):
            return rewriting.note("an identifier is searched as it stands")
        pool = current_pool()
        if pool is None:
            return rewriting.note("nothing is being searched")
        needed = self.settings.agreement if telling <= self.settings.short else self.settings.strict
        return self._feed(rewriting, pool, needed)

    async def _feed(self, rewriting: Rewriting, pool: Pool, needed: float) -> Rewriting:
        rankings, _ = await pool.rankings(plan(rewriting, pool.weights))
        try:
            hits = fusion.best(self._fuse, rankings, pool.weights.weigh, self.settings.hits)
        except RetrievalError as error:  # the search itself will say so
            return rewriting.note(f"no feedback: {error}")
        if len(hits) < self.settings.hits:
            return rewriting.note(f"{len(hits)} hits, too few to feed back")
        direction, agreement = _centre(pool, hits)
        if agreement < needed and (direction or needed > self.settings.agreement):
            return rewriting.note(f"the first hits agree to {agreement:.2f}, less than {needed}")
        weighted = self._mixed(rewriting.query, hits)
        if not weighted:
            return rewriting.note("the first hits hold no telling word")
        text = " ".join(word for word, _ in weighted[:_SHOWN])
        search = Search(text, self.name, self.settings.weight, weighted, vector=direction)
        return rewriting.add([search]).note("fed back from " + ", ".join(hit.doc_id for hit in hits))

    def _mixed(self, query: str, hits: Sequence[Hit]) -> Weighted:
        """The query's words and the relevance model's, weights summing to 1, heaviest first."""
        asked = Counter(stems(query, self._language))
        surface = {stem: word for word in terms(query) for stem in stems(word, self._language)}
        model, found = relevance_model(hits, self.settings.words, self._language)
        own = self.settings.own if model else 1.0
        weights: Counter[str] = Counter()
        for stem, count in asked.items():
            weights[stem] += own * count / asked.total()  # type: ignore[assignment]
        for stem, share in model.items():
            weights[stem] += (1 - own) * share  # type: ignore[assignment]
        words = found | surface
        ordered = sorted(weights.items(), key=lambda entry: (-entry[1], entry[0]))
        return tuple((words[stem], weight) for stem, weight in ordered if weight > 0)


def relevance_model(hits: Sequence[Hit], count: int, language: str) -> tuple[dict[str, float], dict[str, str]]:
    """P(w | R) of the `count` heaviest stems, scaled to sum to 1, and the heaviest form of each.

    Hits weigh by their scores. Both are empty where the hits hold no telling word.
    """
    stem, stop = stemmer(language), stop_words(language)
    total = sum(hit.score for hit in hits) or 1.0
    weights: defaultdict[str, float] = defaultdict(float)
    for hit in hits:
        words = [word for word in terms(f"{hit.title} {hit.text}"[:_READ]) if word not in stop]
        for word, times in Counter(words).items():
            weights[word] += hit.score / total * times / len(words)
    stems_of: defaultdict[str, float] = defaultdict(float)
    forms: dict[str, str] = {}
    for word in sorted(weights, key=lambda key: (-weights[key], key))[: count * _STEMMED]:
        stems_of[stem(word)] += weights[word]
        forms.setdefault(stem(word), word)
    heaviest = sorted(stems_of, key=lambda key: (-stems_of[key], key))[:count]
    mass = sum(stems_of[key] for key in heaviest)
    return {key: stems_of[key] / mass for key in heaviest}, {key: forms[key] for key in heaviest}


def _centre(pool: Pool, hits: Sequence[Hit]) -> tuple[tuple[float, ...], float]:
    for retriever in pool.retrievers:
        if isinstance(retriever, Centred):
            return retriever.centre([hit.doc_id for hit in hits])
    return (), 0.0
