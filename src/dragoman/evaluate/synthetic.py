"""Questions made up from what is there: known items out of the corpus, and clean questions with noise put in."""

from __future__ import annotations

import math
import random
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path

from dragoman.errors import CollectionError
from dragoman.evaluate.collections import Collection
from dragoman.evaluate.files import Asked
from dragoman.jsonlines import json_lines
from dragoman.text import terms
from dragoman.types import Question
from dragoman.vocabulary import Vocabulary

SHORTEST, LONGEST = 3, 6  # words of a known-item question
STRAY = 0.1  # share of its words that come from elsewhere in the corpus, as a half-remembered item's do
_FEWEST = 8  # telling words below which a passage is no item to remember
Bank = Mapping[str, Sequence[str]]


def known_items(corpus: Path, vocabulary: Vocabulary, count: int = 200, *, seed: int = 0) -> Collection:
    """A collection made from the corpus alone: each question asks for one passage by words of it.

    A passage is drawn at random and its words by their weight in it, tf * idf, a tenth of them from
    elsewhere in the corpus: the popular and discriminative model with noise of Azzopardi, de Rijke and
    Balog (SIGIR 2007). Such questions are already in the corpus's words, so they show harm, not gain.

    Raises:
        CollectionError: no passage has words enough.
    """
    chance = random.Random(seed)
    drawn = _drawn(corpus, vocabulary, count, chance)
    if not drawn:
        raise CollectionError(f"no passage has {_FEWEST} different telling words to make a question of", corpus)
    questions, qrels = [], {}
    everywhere, weights = list(vocabulary.words), list(vocabulary.words.values())
    for number, (doc_id, text) in enumerate(drawn, start=1):
        counts = Counter(vocabulary.telling(text))
        own = {word: tf * vocabulary.idf(word) for word, tf in sorted(counts.items())}
        chosen = _weighted(own, chance.randint(SHORTEST, LONGEST), chance)
        words = [chance.choices(everywhere, weights)[0] if chance.random() < STRAY else word for word in chosen]
        identity = f"known-{number}"
        questions.append(Asked(identity, Question(" ".join(words)), line=number))
        qrels[identity] = {doc_id: 1}
    return Collection(f"{corpus.parent.name} known items", tuple(questions), qrels, corpus)


def _drawn(corpus: Path, vocabulary: Vocabulary, count: int, chance: random.Random) -> list[tuple[str, str]]:
    """`count` passages of equal chance in one reading of the file (reservoir sampling, Vitter 1985)."""
    kept: list[tuple[str, str]] = []
    seen = 0
    for _, row in json_lines(corpus):
        text = f"{row.get('title', '')} {row.get('text', '')}"
        if len(set(terms(text))) < _FEWEST or len(set(vocabulary.telling(text))) < _FEWEST:
            continue
        seen += 1
        if len(kept) < count:
            kept.append((str(row["_id"]), text))
        elif (place := chance.randrange(seen)) < count:
            kept[place] = (str(row["_id"]), text)
    return kept


def _weighted(weights: Mapping[str, float], count: int, chance: random.Random) -> list[str]:
    """`count` different words, each drawn by its weight (Efraimidis and Spirakis 2006)."""
    keys = {word: math.log(chance.random() or 1e-300) / max(weight, 1e-9) for word, weight in weights.items()}
    return sorted(keys, key=lambda word: keys[word], reverse=True)[:count]


def noisy(collection: Collection, *, language: str = "en", seed: int = 0) -> Collection:
    """The same questions as people type them to a person: greeting before, thanks after, fillers within.

    Each gets a greeting or thanks, half of them both, one in three a filler after its first word.

    Raises:
        CollectionError: no bank of noise for the language.
    """
    bank, chance = noise(language), random.Random(seed)

    def noised(asked: Asked) -> Asked:
        question = replace(asked.question, text=add_noise(asked.question.text, bank, chance))
        return replace(asked, question=question)

    return replace(collection, name=f"{collection.name} with noise", questions=tuple(map(noised, collection.questions)))


def add_noise(text: str, bank: Bank, chance: random.Random) -> str:
    """One text with noise put in."""
    first, space, rest = text.partition(" ")
    if space and chance.random() < 1 / 3:
        text = f"{first} {chance.choice(bank['within'])} {rest}"
    where = chance.choice(("before", "after", "both", "both"))
    if where != "after":
        text = f"{chance.choice(bank['before'])} {text}"
    if where != "before":
        text = f"{text} {chance.choice(bank['after'])}"
    return text


@cache
def noise(language: str = "en") -> Bank:
    """The greetings (`before`), thanks (`after`) and fillers (`within`) of a language.

    Raises:
        CollectionError: none is shipped for it.
    """
    folder = resources.files("dragoman") / "data" / "noise"
    file = folder / f"{language}.toml"
    if not file.is_file():
        known = ", ".join(sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir()))
        raise CollectionError(f"there is no bank of noise for {language!r}; there is one for {known}")
    bank: Bank = tomllib.loads(file.read_text("utf-8"))
    return bank
