"""Entries that a model proposes: asked once for each frequent word that no document holds, not once a question.

Offline, with the corpus's nearest phrases shown. What comes back is held to the corpus: a phrase
with a word that no document holds is left out. The entries wait in the lexicon file, not in force,
until a person accepts them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import LLMError
from dragoman.learn.file import Draft, proposed
from dragoman.protocols import LLM, Prompt, Reply, Schema
from dragoman.text import stemmer, terms
from dragoman.vocabulary import Vocabulary

Nearest: TypeAlias = Callable[[str], Sequence[str]]
Embed: TypeAlias = Callable[[Sequence[str]], NDArray[np.float32]]

LEAST_ASKED = 3  # questions that have the word
MOST_PHRASES = 3
MOST_WORDS = 5
SHOWN_PHRASES, SHOWN_QUESTIONS = 30, 5
MOST_LOOKED_AT = 5_000  # phrases; embedding so many takes some twenty seconds, once
WEIGHT = 0.8  # of a proposed phrase: below the asker's own words, above what came in without a weight
_MAX_TOKENS = 256
_SCHEMA: Schema = {
    "type": "object",
    "additionalProperties": False,
    "required": ["meaning", "phrases"],
    "properties": {
        "meaning": {"type": "string", "description": "What people mean by the word, in a few words."},
        "phrases": {
            "type": "array",
            "items": {"type": "string"},
            "description": "The documents' own words for it, the closest first; empty where none fits.",
        },
    },
}


@dataclass(frozen=True, slots=True)
class Missing:
    """A word that people ask with and no document holds.

    Attributes:
        forms: as it is written, the commonest first.
        questions: a few that have it.
        count: how many have it.
    """

    forms: tuple[str, ...]
    questions: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True)
class Proposal:
    """What came of one word.

    Attributes:
        phrases: what the model gave and the corpus holds, the closest first.
        dropped: what it gave and the corpus does not hold.
        failed: why there is no answer; empty where there is one.
    """

    missing: Missing
    phrases: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    model: str = ""
    failed: str = ""

    @property
    def draft(self) -> Draft | None:
        """The entry for the lexicon file; None where nothing was proposed."""
        if not self.phrases:
            return None
        example = f'"{self.missing.questions[0]}"' if self.missing.questions else ""
        right = tuple((phrase, WEIGHT) for phrase in self.phrases)
        return Draft(self.missing.forms, right, proposed(self.model, self.missing.count, example))


def missing_terms(
    questions: Iterable[str],
    vocabulary: Vocabulary,
    least: int = LEAST_ASKED,
    mask: Callable[[str], str] = str,
) -> tuple[Missing, ...]:
    """The words that at least `least` questions have and no document holds, the most frequent first.

    Numbers, and what is a misspelling of a word that the corpus holds, are not among them.

    Args:
        mask: what questions go through before they are kept to be shown.
    """
    stem = stemmer(vocabulary.language)
    counts: dict[str, int] = {}
    forms: dict[str, dict[str, int]] = {}
    asked: dict[str, list[str]] = {}
    for question in questions:
        masked = mask(question)
        unknown = {word for word in vocabulary.telling(masked) if not vocabulary.holds(word)}
        for stemmed in sorted({stem(word) for word in unknown if len(word) > 2 and word.isalpha()}):
            counts[stemmed] = counts.get(stemmed, 0) + 1
            for word in unknown:
                if stem(word) == stemmed:
                    seen = forms.setdefault(stemmed, {})
                    seen[word] = seen.get(word, 0) + 1
            if len(asked.setdefault(stemmed, [])) < SHOWN_QUESTIONS:
                asked[stemmed].append(" ".join(masked.split()))
    found = [
        Missing(tuple(sorted(forms[each], key=lambda form: (-forms[each][form], form))), tuple(asked[each]), count)
        for each, count in counts.items()
        if count >= least and not any(vocabulary.suggest(form) for form in forms[each])
    ]
    return tuple(sorted(found, key=lambda each: (-each.count, each.forms)))


def nearest_phrases(vocabulary: Vocabulary, embed: Embed, shown: int = SHOWN_PHRASES) -> Nearest:
    """A function from any text to the corpus's phrases that are nearest in meaning, nearest first."""
    phrases = sorted(vocabulary.phrases, key=lambda phrase: (-phrase.documents, phrase.text))[:MOST_LOOKED_AT]
    texts = list(dict.fromkeys(phrase.text for phrase in phrases))
    vectors = embed(texts) if texts else np.zeros((0, 1), np.float32)

    def nearest(text: str) -> Sequence[str]:
        if not texts:
            return ()
        scores = vectors @ embed([text])[0]
        return [texts[place] for place in np.argsort(-scores, kind="stable")[:shown].tolist()]

    return nearest


async def propose(
    missing: Sequence[Missing],
    llm: LLM,
    vocabulary: Vocabulary,
    nearest: Nearest,
    corpus: str = "a collection of documents",
) -> tuple[Proposal, ...]:
    """One call a word, one after another; a word whose call fails says why and the others go on.

    Args:
        nearest: phrases of the corpus near a text; they are shown to the model.
        corpus: what the documents are, as the profile says it.

    Raises:
        LLMError: not one call was answered.
    """
    proposals: list[Proposal] = []
    error: LLMError | None = None
    for each in missing:
        try:
            reply = await llm(_prompt(each, nearest, corpus))
        except LLMError as exc:
            error = exc
            proposals.append(Proposal(each, failed=str(exc), model=llm.name))
        else:
            proposals.append(_held(each, reply, llm.name, vocabulary))
    if error is not None and all(proposal.failed for proposal in proposals):
        raise error
    return tuple(proposals)


@cache
def _rules() -> str:
    return (resources.files("dragoman") / "data" / "propose.txt").read_text("utf-8").strip()


def _prompt(missing: Missing, nearest: Nearest, corpus: str) -> Prompt:
    rules = _rules().format(corpus=corpus, count=MOST_PHRASES, words=MOST_WORDS)
    # The word beside what was asked: alone, its meaning is anybody's guess.
    shown = dict.fromkeys([*nearest(missing.forms[0]), *nearest(" ".join(missing.questions[:1]) or missing.forms[0])])
    parts = [
        f"The word: {missing.forms[0]}",
        "Questions that have it:\n" + "\n".join(f"- {question}" for question in missing.questions),
        "Phrases of the documents that may be near:\n" + "\n".join(f"- {phrase}" for phrase in shown),
    ]
    return Prompt("propose", rules, "\n\n".join(parts), _SCHEMA, _MAX_TOKENS, asked=missing.forms[0])


def _held(missing: Missing, reply: Reply, model: str, vocabulary: Vocabulary) -> Proposal:
    """What the model gave, held to the corpus, its length and its number."""
    kept: list[str] = []
    dropped: list[str] = []
    own = set(missing.forms)
    for phrase in dict.fromkeys(" ".join(str(given).split()) for given in reply.value["phrases"]):
        words = terms(phrase)
        fits = 0 < len(words) <= MOST_WORDS and not own & set(words)
        known = fits and any(vocabulary.telling(phrase)) and all(map(vocabulary.holds, vocabulary.telling(phrase)))
        (kept if known and len(kept) < MOST_PHRASES else dropped).append(phrase)
    return Proposal(missing, tuple(kept), tuple(dropped), reply.model or model)
