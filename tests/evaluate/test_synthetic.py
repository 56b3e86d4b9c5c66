"""Questions made up: they are what they say, and the same for the same seed."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from toy_corpus import toy

from dragoman.errors import CollectionError
from dragoman.evaluate.synthetic import add_noise, known_items, noise, noisy
from dragoman.text import terms
from dragoman.vocabulary import VocabularyBuilder

LETTERS = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau"
WORDS = LETTERS.split()


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    rows = [{"_id": f"d{i}", "title": "", "text": " ".join(WORDS[i : i + 9])} for i in range(10)]
    rows.append({"_id": "short", "title": "", "text": "alpha beta"})
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def made(corpus: Path, count: int, seed: int = 0) -> list[tuple[str, dict[str, int]]]:
    builder = VocabularyBuilder()
    for line in corpus.read_text("utf-8").splitlines():
        builder.add("", json.loads(line)["text"])
    items = known_items(corpus, builder.finish(), count, seed=seed)
    return [(asked.question.text, dict(items.qrels[asked.id])) for asked in items.questions]


def test_known_items_ask_for_one_passage_in_its_words(corpus: Path) -> None:
    texts = {row["_id"]: set(terms(row["text"])) for row in map(json.loads, corpus.read_text("utf-8").splitlines())}
    found = made(corpus, 6)
    assert len(found) == 6
    own = 0
    for text, grades in found:
        (doc_id,) = grades
        assert doc_id != "short"
        asked = terms(text)
        assert 3 <= len(asked) <= 6
        own += len(set(asked) & texts[doc_id]) / len(asked) > 0.5
    assert own >= 5  # a stray word now and then is meant


def test_known_items_are_the_same_for_the_same_seed(corpus: Path) -> None:
    assert made(corpus, 5, seed=3) == made(corpus, 5, seed=3)
    assert made(corpus, 5, seed=3) != made(corpus, 5, seed=4)
    assert len(made(corpus, 50)) == 10


def test_a_corpus_of_scraps_makes_no_questions(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"_id": "a", "title": "", "text": "one two"}\n', "utf-8")
    with pytest.raises(CollectionError, match="8 different telling words"):
        made(path, 3)


def test_noise_keeps_every_word_of_the_question_in_order() -> None:
    question = "how fast may i go"
    for seed in range(50):
        said = add_noise(question, noise(), random.Random(seed))
        rest = iter(said.split())
        assert all(word in rest for word in question.split())
        assert said != question


def test_noisy_questions_keep_ids_and_judgments_and_come_again() -> None:
    once, again, other = noisy(toy(), seed=1), noisy(toy(), seed=1), noisy(toy(), seed=2)
    assert once.questions == again.questions != other.questions
    assert [asked.id for asked in once.questions] == [asked.id for asked in toy().questions]
    assert once.qrels == toy().qrels


@pytest.mark.parametrize("language", ["en", "de", "fr", "es"])
def test_every_bank_has_all_three_kinds(language: str) -> None:
    bank = noise(language)
    assert set(bank) == {"before", "after", "within"}
    for kind, texts in bank.items():
        assert len(texts) >= 6, kind
        assert len(set(texts)) == len(texts)


def test_a_language_without_a_bank_is_named() -> None:
    with pytest.raises(CollectionError, match="there is one for de, en, es, fr"):
        noise("xx")
