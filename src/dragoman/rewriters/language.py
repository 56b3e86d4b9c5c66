"""Which language a search may be in, held in code: by script, and by stop words where there are any."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

from dragoman.text import LANGUAGES, stop_words, words

ANY = "any"  # a language that is not checked
_LATIN = ("en", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "no", "fi", "pl", "cs", "sk", "hu", "ro", "hr", "sl",
          "tr", "id", "vi", "ca", "et", "lv", "lt")  # fmt: skip
# Script names as Unicode's character names begin. A language that is not here may be in any script.
SCRIPTS: dict[str, frozenset[str]] = {
    **dict.fromkeys(_LATIN, frozenset({"LATIN"})),
    **{code: frozenset({"CYRILLIC"}) for code in ("ru", "uk", "bg", "be", "mk")},
    **{code: frozenset({"ARABIC"}) for code in ("ar", "fa", "ur")},
    "sr": frozenset({"CYRILLIC", "LATIN"}),
    "el": frozenset({"GREEK"}),
    "he": frozenset({"HEBREW"}),
    "hi": frozenset({"DEVANAGARI"}),
    "th": frozenset({"THAI"}),
    "zh": frozenset({"CJK"}),
    "ja": frozenset({"CJK", "HIRAGANA", "KATAKANA"}),
    "ko": frozenset({"HANGUL", "CJK"}),
}
NAMES = {
    "en": "English", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian", "pt": "Portuguese",
    "nl": "Dutch", "sv": "Swedish", "da": "Danish", "pl": "Polish", "ru": "Russian", "uk": "Ukrainian",
    "el": "Greek", "ar": "Arabic", "he": "Hebrew", "hi": "Hindi", "zh": "Chinese", "ja": "Japanese", "ko": "Korean",
    "tr": "Turkish", "cs": "Czech", "fi": "Finnish", "no": "Norwegian", "hu": "Hungarian", "ro": "Romanian",
}  # fmt: skip
# A Greek letter alone is a symbol ("α-synuclein"), two are a word.
LEAST_LETTERS = 2
# One stop word ("die", "son") may be another language's noun; two are not.
LEAST_STOP_WORDS = 2
_LETTERS = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class LanguagePolicy:
    """The question's language, the corpus's, and which of them searches are written in.

    Languages are codes of ISO 639-1 ("en"); "any" is not checked.
    """

    question: str = "en"
    corpus: str = "en"
    searches: Literal["corpus", "question", "both"] = "corpus"

    @property
    def allowed(self) -> tuple[str, ...]:
        """The languages that a search may be in; empty for all."""
        codes = {"corpus": (self.corpus,), "question": (self.question,), "both": (self.question, self.corpus)}
        found = tuple(dict.fromkeys(codes[self.searches]))
        return () if ANY in found else found

    @property
    def translates(self) -> bool:
        """Whether a search may share no word with its question because it is in another language."""
        return self.question != self.corpus and self.searches != "question"

    def request(self) -> str:
        """The sentence that asks a model for it."""
        names = [NAMES.get(code, code) for code in self.allowed]
        if not names:
            return "Write in the language of the documents."
        if len(names) == 1:
            return f"Write in {names[0]}, whatever the question's language."
        return f"Write in {names[0]} or in {names[1]}; with two to write, one in each."


@lru_cache(maxsize=4096)
def script(letter: str) -> str:
    """The script of a letter, as its Unicode name begins: "LATIN", "CYRILLIC", "CJK"; empty for none."""
    return unicodedata.name(letter, "").split(" ")[0].split("-")[0]


def foreign_words(text: str, allowed: Collection[str], known: Collection[str] = ()) -> list[str]:
    """The words of `text` in a script that none of the languages is written in.

    A word that mixes scripts is one of them; a word of `known`, such as the question's own, is not.
    """
    if text.isascii() and "LATIN" in _scripts(tuple(allowed)):
        return []
    scripts = _scripts(tuple(allowed))
    if not scripts:
        return []
    return [
        word
        for word in _LETTERS.findall(text)
        if not {script(letter) for letter in word} <= scripts
        and (len(word) >= LEAST_LETTERS or script(word) == "CJK")
        and word.casefold() not in known
    ]


@cache
def _scripts(allowed: tuple[str, ...]) -> frozenset[str]:
    """Every script of the languages; empty, for no check, where one of them is not in the table."""
    if not allowed or any(code not in SCRIPTS for code in allowed):
        return frozenset()
    return frozenset().union(*(SCRIPTS[code] for code in allowed))


def foreign_language(text: str, allowed: Collection[str]) -> str | None:
    """Which language with shipped stop words `text` is in, if it is none of the allowed; None where words do not say.

    Only stop words that no allowed language shares are counted; two of them at least, and more than
    the allowed languages have.
    """
    if not allowed or any(code not in LANGUAGES for code in allowed):
        return None
    found = {word for word in words(text) if len(word) > 1}  # a letter alone is a name: "vitamin D"
    known: frozenset[str] = frozenset().union(*(stop_words(code) for code in allowed))
    own = sum(word in known for word in found)
    strange = {
        code: sum(word in stop_words(code) and word not in known for word in found)
        for code in LANGUAGES
        if code not in allowed
    }
    best = max(strange, key=lambda code: strange[code], default=None)
    return best if best is not None and strange[best] >= LEAST_STOP_WORDS and strange[best] > own else None
