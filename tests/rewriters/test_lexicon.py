"""The lexicon: the engines' format, replacing and adding, and that applying twice is applying once."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.errors import LexiconError
from dragoman.rewriters.chain import Chain
from dragoman.rewriters.entries import MOST_TERMS, MOST_WORDS, Entry, Term, parse, serialise
from dragoman.rewriters.lexicon import ADDED_WEIGHT, Lexicon, LexiconRewriter
from dragoman.types import Outcome, Rewriting, Search


def lexicon(*lines: str) -> Lexicon:
    return Lexicon.parse("\n".join(lines), "road.txt")


# -- the format ----------------------------------------------------------------------------------


def test_a_mapping_equivalents_and_weights_are_read_with_their_lines_and_comments() -> None:
    text = "# by hand\nfastest => maximum speed|0.8, limit\n\n# tyres\n# both spellings\ntire, tyre|0.5\n"
    assert list(parse(text, "a.txt")) == [
        Entry(("fastest",), (Term("maximum speed", 0.8), Term("limit")), True, "by hand", "a.txt", 2),
        Entry(("tire", "tyre"), (Term("tire"), Term("tyre", 0.5)), False, "tyres\nboth spellings", "a.txt", 6),
    ]


def test_a_comment_with_an_empty_line_below_it_belongs_to_the_file_not_to_an_entry() -> None:
    assert [entry.comment for entry in parse("# the file\n\na => b\n# c\nd => e")] == ["", "c"]


def test_a_backslash_makes_commas_arrows_bars_and_backslashes_plain() -> None:
    (entry,) = parse(r"a\, b, c \=> d => x\|y, back\\slash")
    assert entry.left == ("a, b", "c => d")
    assert [term.text for term in entry.right] == ["x|y", "back\\slash"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a =>", r"road\.txt:2: a term is empty"),
        ("=> b", "a term is empty"),
        ("a,,b", "a term is empty"),
        ("a => ???", "has no word in it"),
        ("a|x, b", r"weight 'x' is not a number from 0\.01 to 10"),
        ("a|-1, b", "weight '-1'"),
        ("a|nan, b", "weight 'nan'"),
        ("a|0.5|0.6, b", r"weight '0\.5\|0\.6'"),
        ("a|0.5 => b", "a weight on the left"),
        ("a => b => c", "'=>' stands twice"),
        ("a", "'a' stands alone"),
        ("a => a", "'a' is mapped to itself"),
        ("a, A => b", "'A' stands twice on one side"),
        ("c => d", r"'c' is on a left side already \(line 1\)"),
        ("c, e", r"'c' is on a left side already \(line 1\)"),
        ("z => c z y\nq => r", "never settles"),
        (" ".join("w" * (MOST_WORDS + 1)) + " => b", "13 words, 12 at most"),
        (", ".join(f"w{n}" for n in range(MOST_TERMS + 1)) + " => b", "25 terms on one side"),
    ],
)
def test_a_line_that_cannot_be_is_an_error_at_its_line(line: str, message: str) -> None:
    with pytest.raises(LexiconError, match=message) as caught:
        lexicon("c => z", line)
    assert (str(caught.value.path), caught.value.line) in (("road.txt", 2), ("road.txt", 1))


@pytest.mark.parametrize(
    "lines", [("a => b", "b => a"), ("a => b", "b => c", "c => x a"), ("a b => b a", "b a => a b")]
)
def test_a_circle_of_replacements_is_found_when_the_lexicon_is_made(lines: tuple[str, ...]) -> None:
    with pytest.raises(LexiconError, match="never settles"):
        lexicon(*lines)


def test_a_file_that_is_not_there_or_not_utf8_says_so(tmp_path: Path) -> None:
    with pytest.raises(LexiconError, match="cannot be opened: No such file"):
        Lexicon.read(tmp_path / "absent.txt")
    (tmp_path / "latin.txt").write_bytes("a => é".encode("latin-1"))
    with pytest.raises(LexiconError, match="not UTF-8 at byte 5"):
        Lexicon.read(tmp_path / "latin.txt")


def test_saving_and_reading_keeps_every_entry_and_its_comment(tmp_path: Path) -> None:
    made = lexicon("# seen 12 times\n# in two towns", "a\\, b, c => d|0.25, e", "", "f, g|2")
    made.save(tmp_path / "l.txt")
    again = Lexicon.read(tmp_path / "l.txt")
    assert [(e.left, e.right, e.explicit, e.comment) for e in again.entries] == [
        (e.left, e.right, e.explicit, e.comment) for e in made.entries
    ]


phrase = st.lists(
    st.sampled_from(["car", "big", "x,y", "a|b", "p => q", "back\\", "#tag", "Straße"]), min_size=1, max_size=3
).map(" ".join)
term = st.builds(Term, phrase, st.one_of(st.none(), st.sampled_from([0.25, 0.8, 2.0])))
comment = st.sampled_from(["", "one line", "two\nlines"])


@given(st.lists(st.tuples(phrase, term, comment), max_size=6))
def test_what_is_written_is_read_back(rows: list[tuple[str, Term, str]]) -> None:
    entries = [Entry((left,), (right,), True, note) for left, right, note in rows]
    read = [Entry(e.left, e.right, e.explicit, e.comment) for e in parse(serialise(entries))]
    assert read == entries


# -- applying ------------------------------------------------------------------------------------

ROAD = lexicon(
    "whats the fastest, how fast => maximum speed",
    "phone => mobile phone",
    "driver's license => operator's licence",
    "tire, tyre, wheel|0.8",
    "fine => fine, civil penalty|0.6",
    "red light camera, photo enforcement",
    "light => lamp",
    "cop => police officer|0.7",
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Whats the  fastest in town?", "maximum speed in town?"),
        ("HOW FAST may I go", "maximum speed may I go"),
        ("my phone and a mobile phone", "my mobile phone and a mobile phone"),
        ("phonebook and headphone", "phonebook and headphone"),
        ("driver’s license", "operator's licence"),
        ("Drivers License", "operator's licence"),
        ("tire worn", "tire worn, tyre, wheel"),
        ("is there a fine?", "is there a fine? civil penalty"),
        ("red light camera", "red light camera, photo enforcement"),
        ("red-light camera", "red-light camera, photo enforcement"),
        ("red light. camera", "red lamp. camera"),
        ("light-year", "light-year"),
        ("#light light_on light.py PHONE-12", "#light light_on light.py PHONE-12"),
        ("what is a 'red light camera' or \"phone\"", "what is a 'red light camera' or \"phone\""),
        ("see https://example.org/phone `phone`", "see https://example.org/phone `phone`"),
        ("tire and tyre and wheel", "tire and tyre and wheel"),
    ],
)
def test_entries_hit_whole_words_longest_first_and_nothing_quoted(text: str, expected: str) -> None:
    assert ROAD.apply(text).text == expected


def test_a_text_without_a_hit_is_the_same_object() -> None:
    text = "speed limit"
    assert ROAD.apply(text).text is text
    assert not ROAD.apply(text).hits


def test_a_replacement_is_replaced_in_turn_and_every_hit_names_its_line() -> None:
    applied = lexicon("a => b", "# between", "b => c").apply("x A")
    assert applied.text == "x c"
    assert [(h.rule, h.found, h.put, h.source) for h in applied.hits] == [
        ("lexicon.replace", "A", "b", "road.txt:1"),
        ("lexicon.replace", "b", "c", "road.txt:3"),
    ]


def test_what_was_added_adds_nothing_of_its_own() -> None:
    chain = lexicon("car, vehicle", "vehicle, truck", "truck => truck, lorry")
    assert chain.apply("car").text == "car, vehicle"
    assert chain.apply("car, vehicle").text == "car, vehicle"
    assert chain.apply("vehicle").text == "vehicle, car, truck"


def test_what_is_added_is_said_in_the_words_that_it_would_be_replaced_by() -> None:
    assert lexicon("a => a, b", "b => c").apply("a").text == "a, c"


def test_words_that_take_too_many_rounds_to_settle_are_left_as_they_are() -> None:
    made = lexicon("a b => b a a")
    assert made.apply("a b b c").text == "b b a a a a c"
    endless = "a" + " b" * 12
    assert made.apply(endless).text == endless


def test_own_words_weigh_one_and_added_ones_what_the_file_says() -> None:
    assert ROAD.apply("worn tire").terms == (("worn", 1.0), ("tire", 1.0), ("tyre", ADDED_WEIGHT), ("wheel", 0.8))
    assert ROAD.apply("a cop").terms == (("a", 1.0), ("police", 0.7), ("officer", 0.7))
    assert ROAD.apply("how fast").terms == ()


def test_the_earlier_of_merged_lexicons_keeps_its_left_sides() -> None:
    hand = Lexicon.parse("phone => handheld device\ncar, vehicle", "hand.txt")
    learned = Lexicon.parse("phone, cell => wireless\ntruck, vehicle|0.4\nfine => penalty", "learned.txt")
    merged = Lexicon.merge(hand, learned)
    assert [str(entry) for entry in merged.entries] == [
        "phone => handheld device",
        "car, vehicle",
        "cell => wireless",
        "truck => truck, vehicle|0.4",
        "fine => penalty",
    ]
    assert merged.apply("fine").hits[0].source == "learned.txt:3"


VOCABULARY = ["a", "b", "c", "d", "e", "f"]
side = st.lists(
    st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=2).map(" ".join), min_size=1, max_size=3, unique=True
)
lines = st.one_of(
    st.tuples(side, side).map(lambda s: f"{', '.join(s[0])} => {', '.join(s[1])}"),
    side.filter(lambda s: len(s) > 1).map(", ".join),
)
queries = st.lists(
    st.tuples(st.sampled_from(VOCABULARY), st.sampled_from(["", "", "", ",", "?", "-"])), min_size=1, max_size=8
).map(lambda many: " ".join(word + mark for word, mark in many))


@settings(max_examples=600, deadline=None)
@given(st.lists(lines, min_size=1, max_size=6), queries)
def test_applying_twice_is_applying_once(rows: list[str], text: str) -> None:
    kept: list[str] = []
    for row in rows:  # drop what would be an error; what settles must be idempotent
        try:
            Lexicon.parse("\n".join([*kept, row]))
        except LexiconError:
            continue
        kept.append(row)
    made = Lexicon.parse("\n".join(kept))
    once = made.apply(text).text
    assert made.apply(once).text == once


# -- as a step -----------------------------------------------------------------------------------


def step(rewriting: Rewriting) -> Rewriting:
    after = Chain([LexiconRewriter(ROAD)])(rewriting)
    assert isinstance(after, Rewriting)
    return after


def test_a_replacement_rewrites_and_an_addition_expands_the_query() -> None:
    replaced = step(Rewriting.of("how fast in town"))
    assert (replaced.rewritten, replaced.expanded, replaced.terms) == ("maximum speed in town", None, ())
    both = step(Rewriting.of("how fast on a worn tire"))
    assert both.rewritten == "maximum speed on a worn tire"
    assert both.expanded == "maximum speed on a worn tire, tyre, wheel"
    assert dict(both.terms)["tyre"] == ADDED_WEIGHT
    assert [hit.source for hit in both.steps[0].rules] == ["road.txt:1", "road.txt:4"]


def test_every_search_is_held_to_it_and_keeps_its_origin_weight_and_retrievers() -> None:
    before = Rewriting.of("x").add([Search("phone rule", "model", 0.4, on=("words",)), Search("speed", "model")])
    after = step(before)
    assert after.searches == (Search("mobile phone rule", "model", 0.4, on=("words",)), Search("speed", "model"))
    assert after.query == "x"


def test_weights_that_a_search_has_already_are_kept_for_the_words_that_stay() -> None:
    before = Rewriting.of("x").add([Search("phone tire", "m", 1.0, (("phone", 3.0), ("tire", 2.0), ("rain", 0.2)))])
    terms = dict(step(before).searches[0].terms)
    assert terms == {"phone": 3.0, "tire": 2.0, "rain": 0.2, "mobile": 1.0, "tyre": ADDED_WEIGHT, "wheel": 0.8}


def test_running_the_step_again_changes_nothing() -> None:
    once = step(Rewriting.of("how fast on a worn tire").add([Search("phone cop", "m")]))
    twice = step(once)
    assert (twice.query, twice.terms, twice.searches) == (once.query, once.terms, once.searches)
    assert twice.steps[-1].outcome is Outcome.UNCHANGED


def test_it_runs_after_the_gate_has_settled_the_question() -> None:
    assert step(replace(Rewriting.of("how fast"), settled="clear")).query == "maximum speed"


def test_matching_takes_no_longer_with_twenty_thousand_entries_than_with_two_hundred() -> None:
    rng = random.Random(7)
    question = "whats the fastest i can go on a residential street with no sign"
    words = [f"w{n}" for n in range(6_000)] + question.split()
    lefts = list(dict.fromkeys(" ".join(rng.choices(words, k=rng.choice([2, 2, 3]))) for _ in range(20_000)))
    small, large = (
        Lexicon.parse("\n".join(f"{left} => r{n} q{n}" for n, left in enumerate(some))) for some in (lefts[:200], lefts)
    )

    def seconds(made: Lexicon) -> float:
        best = 1.0
        for _ in range(7):
            began = time.process_time()
            for _ in range(200):
                made.apply(question)
            best = min(best, (time.process_time() - began) / 200)
        return best

    assert seconds(large) < 5 * seconds(small) + 20e-6


def test_a_rarer_word_that_comes_in_counts_for_no_more_than_the_word_it_came_in_for() -> None:
    idf = {"license": 2.0, "licence": 8.0, "kid": 9.0, "child": 3.0, "motor": 1.0, "fine": 4.0}
    made = lexicon("license, licence", "kid => kid, child", "fine => fine, licence|0.8, motor")

    def telling(word: str) -> float:
        return idf.get(word, 0.0)

    def weights(text: str) -> dict[str, float]:
        return dict(made.apply(text, telling).terms)

    assert weights("license") == {"license": 1.0, "licence": 0.125}
    assert weights("licence") == {"licence": 1.0, "license": 0.5}
    assert weights("kid") == {"kid": 1.0, "child": 0.5}
    assert weights("license fine") == {"license": 1.0, "fine": 1.0, "licence": 0.4, "motor": 0.5}
    rewriting = LexiconRewriter(made, idf=telling)(Rewriting.of("license"))
    assert dict(rewriting.terms) == {"license": 1.0, "licence": 0.125}
    assert dict(made.apply("license").terms) == {"license": 1.0, "licence": 0.5}
