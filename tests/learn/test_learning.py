"""Learning finds what is meant by what is said, keeps only what pays on held-back pairs, and goes on where it was."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.errors import CollectionError, LexiconError
from dragoman.learn import Pair, learn
from dragoman.learn.bags import FOLDS, Bags
from dragoman.learn.choose import choose
from dragoman.learn.counts import MOST_KEPT, MOST_SAID, Counts, asked_words
from dragoman.learn.learning import STATE
from dragoman.learn.translation import SHRINK, link, translate
from dragoman.rewriters.lexicon import Lexicon

MEANS = {
    "junker": "abandoned vehicle",
    "buzzed": "intoxicated driving",
    "bike": "bicycle rider",
    "cop": "officer law",
    "plate": "registration plate",
}
CHAT = ["yesterday", "buddy", "street", "friend", "morning", "downtown", "seriously"]


def pairs_of(count: int, seed: int = 0) -> list[Pair]:
    rng = random.Random(seed)
    found = []
    for number in range(count):
        word = rng.choice(sorted(MEANS))
        chat = rng.sample(CHAT, 3)
        found.append(
            Pair(f"{chat[0]} {word} {chat[1]} {chat[2]} {number % 97}", (f"{MEANS[word]} {rng.choice(CHAT)}",))
        )
    return found


def bags_of(pairs: Iterable[Pair]) -> Bags:
    counts = Counts()
    counts.add(pairs)
    return counts.bags()


def learned(path: Path, pairs: Sequence[Pair]) -> str:
    learn(pairs, path)
    return path.read_text("utf-8")


def lines_of(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_what_people_say_is_put_into_the_words_that_answered(tmp_path: Path) -> None:
    text = learned(tmp_path / "l.txt", pairs_of(200))
    lexicon = Lexicon.parse(text)
    assert {"abandoned", "vehicle"} <= {word for word, _ in lexicon.apply("a junker").terms}
    assert "intoxicated" in lexicon.apply("i am buzzed").text


def test_chance_company_is_not_kept(tmp_path: Path) -> None:
    """Words that stand in no relation to what was answered come in for nothing."""
    text = learned(tmp_path / "l.txt", pairs_of(400))
    lefts = {line.split(" => ")[0] for line in lines_of(text)}
    assert lefts & set(MEANS) == set(MEANS)
    assert len(lefts & set(CHAT)) <= 1


def test_nothing_is_kept_that_only_its_own_pairs_bear_out(tmp_path: Path) -> None:
    rng = random.Random(3)
    noise = [
        Pair(f"q{rng.randrange(60)} w{rng.randrange(60)}", (f"a{rng.randrange(60)} b{rng.randrange(60)}",))
        for _ in range(300)
    ]
    summary = learn(noise, tmp_path / "l.txt")
    assert summary.tried > 20
    assert sum(len(each.right) for each in summary.kept) < summary.tried / 10


def test_an_entry_says_how_often_it_held_and_shows_a_question(tmp_path: Path) -> None:
    text = learned(tmp_path / "l.txt", pairs_of(100))
    block = next(
        part for part in text.split("\n\n") if part.endswith(next(x for x in lines_of(text) if x.startswith("junker")))
    )
    evidence, example, line = block.splitlines()
    assert evidence.startswith("# learned: ")
    assert "without it)" in evidence
    assert example.startswith('# e.g. "')
    assert "abandoned" in example
    assert line.startswith("junker => junker, ")


def test_examples_are_masked(tmp_path: Path) -> None:
    pairs = [Pair(f"junker of bob number {n}", ("abandoned vehicle",)) for n in range(6)]
    pairs += [Pair(f"bike of bob number {n}", ("bicycle",)) for n in range(6)]
    learn(pairs, tmp_path / "l.txt", mask=lambda text: text.replace("bob", "[name]"))
    text = (tmp_path / "l.txt").read_text("utf-8")
    assert "[name]" in text
    assert "bob" not in "".join(line for line in text.splitlines() if line.startswith("# e.g."))


def passages_of(count: int) -> list[Pair]:
    """Pairs whose answers are longer than what is taken of them, in words that come and go, some in many forms."""
    rng = random.Random(count)
    stock = [f"stock{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(80)]
    endings = ["", "s", "ed", "ing", "er", "ers", "ly"]
    found = []
    for number, pair in enumerate(pairs_of(count)):
        at = 40 * number // count  # what is rare in the first pairs is common in the last
        talk = rng.sample(stock[at : at + 40], 25)
        question = f"{pair.question} {rng.choice(stock)}{rng.choice(endings)}"
        found.append(Pair(question, (*pair.said, f"{pair.said[0]} {' '.join(talk)}"), rng.choice([1, 3])))
    return found


def test_pairs_in_parts_come_to_the_same_file_as_at_once(tmp_path: Path) -> None:
    pairs = passages_of(400)
    at_once = lines_of(learned(tmp_path / "once.txt", pairs))
    for start in range(0, 400, 50):
        last = learn(pairs[start : start + 50], tmp_path / "parts.txt")
    assert (last.pairs, last.new) == (400, 50)
    assert min(len(set(" ".join(pair.said).split())) for pair in pairs) > MOST_SAID
    assert len(at_once) > len(MEANS)
    assert lines_of((tmp_path / "parts.txt").read_text("utf-8")) == at_once


def test_what_is_kept_for_the_next_time_is_all_that_was_counted(tmp_path: Path) -> None:
    counts = Counts()
    counts.add(passages_of(100))
    counts.save(tmp_path / "state.npz")
    read = Counts.load(tmp_path / "state.npz", "en")
    assert (read.met, read.folds, read.times, read.seen) == (counts.met, counts.folds, counts.times, counts.seen)
    assert (read.asked.numbers, read.asked.forms) == (counts.asked.numbers, counts.asked.forms)
    for one, two in ((read.sources, counts.sources), (read.said, counts.said), (read.often, counts.often)):
        assert [each.tolist() for each in one] == [each.tolist() for each in two]


def test_a_pair_given_twice_counts_once_and_leaves_the_file_as_it_is(tmp_path: Path) -> None:
    before = learned(tmp_path / "l.txt", pairs_of(80))
    summary = learn(pairs_of(80), tmp_path / "l.txt")
    assert (summary.new, summary.pairs, summary.added, summary.gone) == (0, 80, (), ())
    assert (tmp_path / "l.txt").read_text("utf-8") == before


def test_learning_from_nothing_writes_a_lexicon_without_entries(tmp_path: Path) -> None:
    assert not lines_of(learned(tmp_path / "l.txt", []))
    assert str(learn([Pair("hello", ("greeting",))], tmp_path / "l.txt")).startswith("1 new of 1 pairs")


def test_what_is_kept_for_the_next_time_holds_no_question(tmp_path: Path) -> None:
    learn([Pair("zebra violin quantum", ("speed limit",))] * 3, tmp_path / "l.txt")
    held = np.load(tmp_path / f"l.txt{STATE}")
    assert not any("zebra violin quantum" in str(value) for value in held.values())


def test_a_damaged_state_is_told_and_the_lexicon_stays(tmp_path: Path) -> None:
    before = learned(tmp_path / "l.txt", pairs_of(60))
    (tmp_path / f"l.txt{STATE}").write_bytes(b"no archive")
    with pytest.raises(CollectionError, match="damaged"):
        learn(pairs_of(10), tmp_path / "l.txt")
    assert (tmp_path / "l.txt").read_text("utf-8") == before


def test_a_state_of_another_language_is_told(tmp_path: Path) -> None:
    learn(pairs_of(20), tmp_path / "l.txt")
    with pytest.raises(CollectionError, match="language 'en'"):
        learn(pairs_of(20), tmp_path / "l.txt", language="de")


def test_a_lexicon_that_cannot_be_read_is_told_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "l.txt").write_text("alone\n", "utf-8")
    with pytest.raises(LexiconError, match="alone"):
        learn(pairs_of(20), tmp_path / "l.txt")
    assert not (tmp_path / f"l.txt{STATE}").exists()


def test_pairs_that_cannot_be_read_leave_everything_as_it_was(tmp_path: Path) -> None:
    def broken() -> Sequence[Pair]:
        raise CollectionError("line 3 is no pair")

    with pytest.raises(CollectionError):
        learn((pair for pair in broken()), tmp_path / "l.txt")
    assert not (tmp_path / "l.txt").exists()


def test_a_question_gives_its_telling_stems_and_neighbouring_pairs() -> None:
    assert asked_words("my front lights are burned", "en") == [
        ("front", "front"),
        ("light", "lights"),
        ("burn", "burned"),
        ("front light", "front lights"),
    ]


def test_of_a_long_passage_the_words_that_few_others_say_are_taken() -> None:
    common = [f"common{chr(97 + n)}" for n in range(20)]
    pairs = [Pair(f"q{n}", (" ".join(common),)) for n in range(40)]
    bags = bags_of([*pairs, Pair("the one", (" ".join([*common, "hydrant", "hydrant"]),))])
    names = {bags.said.names[number] for number in bags.targets[-1].tolist()}
    assert len(names) == MOST_SAID
    assert "hydrant" in names


def test_of_an_answer_as_long_as_a_book_the_most_frequent_words_are_counted() -> None:
    counts = Counts()
    words = [f"w{n}x" for n in range(MOST_KEPT + 20)]
    counts.add([Pair("the one", (" ".join([*words, words[-1]]),))])
    (said,), met = counts.said, list(counts.met)
    assert len(said) == MOST_KEPT
    assert met[said[0]] == (words[-1], words[-1])


def test_two_pairs_teach_what_ibm_model_1_says_they_do() -> None:
    """Worked by hand: the textbook's "the house / the book", one round each, with the null word and shrinkage."""
    bags = bags_of([Pair("bus house", ("das haus",)), Pair("bus book", ("das buch",))])
    links = link(bags)
    n_said = len(bags.said)
    key = bags.asked.numbers
    chances = translate(links, n_said)
    # "house" and "book" were met once and are left out; "bus" and the null word share alike at every
    # round: das gets half of two answers, haus and buch half of one each.
    for source in (0, key["bus"]):
        das = links.keys.tolist().index(source * n_said + bags.said.numbers["das"])
        haus = links.keys.tolist().index(source * n_said + bags.said.numbers["haus"])
        assert chances[das] == pytest.approx(1 / (2 + SHRINK))
        assert chances[haus] == pytest.approx(0.5 / (2 + SHRINK))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from("abcdefgh"), min_size=1), st.lists(st.sampled_from("stuvw"), min_size=1)),
        min_size=2,
        max_size=30,
    )
)
def test_chances_of_a_word_add_up_to_at_most_one(given_pairs: list[tuple[list[str], list[str]]]) -> None:
    bags = bags_of(
        Pair(f"{number} " + " ".join(f"ask{word}" for word in asked), (" ".join(f"say{word}" for word in said),))
        for number, (asked, said) in enumerate(given_pairs)
    )
    links = link(bags)
    for fold in (None, *range(FOLDS)):
        chances = translate(links, len(bags.said), fold)
        sums = np.bincount(links.keys // len(bags.said), chances)
        assert chances.min() >= 0
        assert sums.max() <= 1 + 1e-9


def test_evidence_is_counted_on_pairs_that_the_entry_was_not_learned_from() -> None:
    pairs = [Pair(f"junker case{n} filler{n}", ("abandoned vehicle",)) for n in range(10)]
    bags = bags_of([*pairs, *(Pair(f"other case{n} filler{n}", ("speed limit",)) for n in range(10))])
    links, n_said = link(bags), len(bags.said)
    full = translate(links, n_said)
    held_back = [translate(links, n_said, fold) for fold in range(FOLDS)]
    (entry,) = [kept for kept in choose(bags, links, full, held_back).kept if kept.left == "junker"]
    target = next(target for target in entry.right if target.word == "abandoned")
    assert (target.tried, target.hit) == (10, 10)
    assert target.expected < 7
    assert target.gain > 0
    nothing = [np.zeros_like(full)] * FOLDS
    assert not choose(bags, links, full, nothing).kept
