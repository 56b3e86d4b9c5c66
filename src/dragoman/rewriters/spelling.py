"""Words that the corpus does not hold, put as the corpus writes them.

Another national spelling is always put ("licence" where the corpus has "license"). A suspected slip is
put right only where the word is none that people use anyway: "house" is not a misspelt "horse" because
a vehicle code has horses and no houses.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from dragoman.spelling import variants
from dragoman.text import fold, identifiers, stemmer, stop_words, tokens
from dragoman.types import Rewriting, RuleHit
from dragoman.vocabulary import Vocabulary

_KEPT = 4_096  # words
_SLIP_LEAST = 6  # letters: shorter words have neighbours that are other words
# People seldom mistake a word's first letter, except one vowel for another: "vaseline" is no "baseline".
_VOWELS = frozenset("aeiou")


class Spelling:
    """The repair as a rewriter; it runs before the gate, which asks what the corpus holds.

    Args:
        vocabulary: the corpus's words.
        known: words that people use, folded, and that are no slips, whatever the corpus holds; without any, only
            other spellings and words run together are changed.
    """

    gated = False

    def __init__(self, vocabulary: Vocabulary, known: Collection[str] = (), name: str = "spelling") -> None:
        self.name = name
        self._vocabulary = vocabulary
        self._known = known
        self._stem = stemmer(vocabulary.language)
        self._stop = stop_words(vocabulary.language)
        self.repaired = lru_cache(_KEPT)(self._repaired)  # the words that a corpus lacks come again and again

    def __call__(self, rewriting: Rewriting) -> Rewriting:
        """The rewriting with its query repaired; each repair noted."""
        text = rewriting.query
        kept = {piece for code in identifiers(text) for piece in (code, fold(code))}
        parts: list[str] = []
        hits: list[RuleHit] = []
        end = 0
        for token in tokens(text):
            put = "" if token.text in kept else self.repaired(token.text)
            if put:
                parts += [text[end : token.start], put]
                end = token.end
                hits.append(RuleHit("spelling", token.text, put))
        return rewriting.rewrite("".join(parts) + text[end:]).note(*hits) if hits else rewriting

    def _repaired(self, word: str) -> str:
        """What the corpus writes for `word`; empty where it stays as it is."""
        folded = fold(word)
        if not folded.isalpha() or folded in self._stop or self._vocabulary.holds(folded):
            return ""
        suggestions = self._vocabulary.suggest(folded)
        if not suggestions:
            return ""
        best = suggestions[0]
        if best in variants(folded, self._vocabulary.language) or " " in best:
            return best
        begins_alike = best[0] == folded[0] or (best[0] in _VOWELS and folded[0] in _VOWELS)
        return best if begins_alike and self._is_slip(folded) else ""

    def _is_slip(self, word: str) -> bool:
        """Whether nobody writes it so: neither the word, nor what it is an inflection of, is known."""
        if not self._known or len(word) < _SLIP_LEAST:
            return False
        stem = self._stem(word)
        return not any(form in self._known for form in (word, stem, stem + "e", word.removesuffix("s")))
