"""Profiles: what is shipped loads, and every mistake has its file and line."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.errors import LexiconError, ProfileError, PromptError
from dragoman.llm.open import innermost
from dragoman.profile import Profile, load_profile, open_dragoman
from dragoman.profile_check import check_profile
from dragoman.profile_steps import STEPS, Absent, Parts, rewriters
from dragoman.rewriters.chain import Chain
from dragoman.rewriters.prompted import Prompted
from dragoman.search import RETRIEVERS, ByLength
from dragoman.testing import Says, ScriptedModel, ScriptedServer
from dragoman.types import Message, Outcome, Question, Rewriting

MINE = r"""
name = "mine"
asker = "a nurse"
corpus = "a formulary"
register = ["Write drug names in full."]
lexicon = ["words.txt"]
steps = ["rules", "lexicon", { use = "rephrase", weight = 0.8 }, "guards"]

[language]
question = "en"
corpus = "en"

[limits]
searches = 3
characters = 60
figures = "any"

[models]
rewrite = "replay:replies.jsonl"

[leash]
seconds = 1.5
budget = 3

[weights]
asked = 0.25
reserve = 3
[weights.origins]
rephrase = 0.9
[weights.retrievers]
words = 1.2
meaning = { per_word = 0.2, most = 2 }
[masking]
kinds = ["email"]

[memory]
path = "store/memory.db"

[[guards]]
id = "shot"
pattern = '\bshots?\b'
replacement = "injection"
reason = "the formulary has no shots"
examples = [["flu shot", "flu injection"]]

[[examples]]
question = "hello, can i get a flu shot"
reply = { about_corpus = true, searches = ["flu shot", "influenza vaccine 2024"] }
searches = ["flu injection", "influenza vaccine 2024"]

[[examples]]
question = "hey, meds for babies"
query = "medicine for babies"
"""


def write(tmp_path: Path, text: str = MINE) -> Path:
    (tmp_path / "words.txt").write_text("meds => medicine\n", "utf-8")
    (tmp_path / "replies.jsonl").write_text('{"question": "flu shot", "searches": ["flu shot dose"]}\n', "utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(text, "utf-8")
    return path


def test_a_profile_is_what_its_file_says(tmp_path: Path) -> None:
    profile = load_profile(write(tmp_path))
    assert (profile.name, profile.setting.asker, profile.setting.register) == (
        "mine",
        "a nurse",
        ("Write drug names in full.",),
    )
    assert (profile.limits.searches, profile.limits.characters, profile.limits.figures) == (3, 60, "any")
    assert profile.rewrite_model == f"replay:{tmp_path / 'replies.jsonl'}"
    assert (profile.leash, profile.budget, profile.reserve) == (1.5, 3.0, 3)
    assert (profile.weights.asked, profile.weights.origins) == (0.25, {"rephrase": 0.9})
    assert profile.weights.retrievers["words"] == 1.2
    assert profile.weights.retrievers["meaning"] == ByLength(0.2, 0.3, 2)
    assert profile.weights.retrievers["headings_meaning"] == RETRIEVERS["headings_meaning"]
    assert (profile.memory, profile.cache) == (tmp_path / "store/memory.db", None)
    assert profile.masking == ("email",)
    assert [rule.id for rule in profile.rules] == ["shot"]
    assert len(profile.examples) == 2


def test_what_a_profile_leaves_out_has_its_default(tmp_path: Path) -> None:
    profile = load_profile(write(tmp_path, ""))
    assert (profile.name, profile.rewrite_model, profile.memory, profile.masking) == ("mine", "", None, ())
    assert (profile.limits.searches, profile.limits.characters, profile.limits.max_tokens) == (2, 80, 1024)


def test_its_chain_runs_in_its_order_with_its_options(tmp_path: Path) -> None:
    steps = rewriters(load_profile(write(tmp_path)))
    assert [step.name for step in steps] == ["rules", "lexicon", "rephrase", "guards"]
    (rephrase,) = (step for step in steps if isinstance(step, Prompted))
    assert rephrase.prompt.limits.count == 3
    assert rephrase.options.weight == 0.8
    assert rephrase.options.masking is not None


async def test_its_model_is_on_its_rules_and_its_guards_hold_the_reply(tmp_path: Path) -> None:
    with load_profile(write(tmp_path)).build() as hall:
        rewriting = await hall.arewrite("hello, flu shot")
    assert [(s.text, s.origin, s.weight) for s in rewriting.searches] == [("flu injection dose", "rephrase", 0.8)]
    assert [step.outcome for step in rewriting.steps if step.name == "rephrase"] == [Outcome.REWRITTEN]


def test_prompted_steps_are_left_out_where_no_model_is_named_or_wanted(tmp_path: Path) -> None:
    profile = load_profile(write(tmp_path, MINE.replace('rewrite = "replay:replies.jsonl"', "")))
    assert "rephrase" not in [step.name for step in rewriters(profile)]
    assert "rephrase" not in [step.name for step in rewriters(load_profile(write(tmp_path)), Parts(models=False))]
    assert "rephrase" in [step.name for step in rewriters(profile, Parts(llm=ScriptedModel({})))]


def test_only_the_steps_wanted_are_made(tmp_path: Path) -> None:
    profile = load_profile(write(tmp_path))
    assert [step.name for step in rewriters(profile, Parts(only=("rephrase",)))] == ["rephrase"]
    made = rewriters(profile, Parts(only=("decompose",)))
    assert [step.name for step in made] == ["decompose"]


def test_steps_in_an_inner_list_run_side_by_side(tmp_path: Path) -> None:
    text = 'steps = ["rules", ["rephrase", "decompose"], ["lexicon"], "guards"]'
    steps = rewriters(load_profile(write(tmp_path, text)), Parts(llm=ScriptedModel({})))
    assert [step.name for step in steps] == ["rules", "together", "guards"]


def test_a_prompt_of_ones_own_is_a_step_and_touches_no_python(tmp_path: Path) -> None:
    from importlib import resources

    shipped = (resources.files("dragoman") / "prompts" / "rephrase.toml").read_text("utf-8")
    (tmp_path / "headings.toml").write_text(shipped, "utf-8")
    steps = rewriters(load_profile(write(tmp_path, 'steps = ["headings.toml"]')), Parts(llm=ScriptedModel({})))
    assert [step.name for step in steps] == ["headings"]


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ('asker = "a nurse"', 'askre = "a nurse"', 3, "unknown key 'askre'; did you mean 'asker'?"),
        ("asked = 0.25", 'asked = "much"', 26, "'weights.asked' is 'much', expected a number"),
        ("per_word = 0.2", "per_wrod = 0.2", 32, "unknown key 'weights.retrievers.meaning.per_wrod'; did you mean"),
        ("most = 2", "most = 0.1", 32, "'weights.retrievers.meaning.least' is above 'most'; make it 0.1 or less"),
        ("words = 1.2", 'words = "1"', 30, "expected a table of numbers or tables"),
        ("searches = 3", "searches = 0", 14, "expected 1 or more"),
        ('figures = "any"', 'figures = "all"', 16, "expected one of asked, any"),
        ('question = "en"', 'question = "English"', 10, "'English' is no language code"),
        ('kinds = ["email"]', 'kinds = ["names"]', 34, "expected one of email, phone, card"),
        ('lexicon = ["words.txt"]', 'lexicon = ["gone.txt"]', 6, "no lexicon at"),
        (r"'\bshots?\b'", "'shots('", 41, "guard 'shot'"),
        (r"'\bshots?\b'", "'(s+)+h'", 41, "not safe"),
        (r"'\bshots?\b'", "'x*'", 41, "matches the empty text"),
        ('"injection"', r"'\7'", 42, "invalid group reference"),
        ('"injection"', '"shot of injection"', 42, "guard 'shot' never settles"),
        ('id = "shot"', 'id = ""', 40, "a guard needs an id"),
        ('reason = "the formulary has no shots"', "", 39, "'guards.reason' is missing"),
        ('"guards"]', '"gaurds"]', 7, "no step 'gaurds': neither one of"),
        ("weight = 0.8", "wieght = 0.8", 7, "step 'rephrase' has no option 'wieght'; known: weight"),
        ("weight = 0.8", "weight = true", 7, "'weight' is True, expected int or float"),
        ("weight = 0.8", "weight = 0", 7, "step 'rephrase': 'weight' is 0, expected 0.001 or more"),
        ("weight = 0.8", "weight = -1", 7, "'weight' is -1, expected 0.001 or more"),
        ("weight = 0.8", "weight = 1e400", 7, "'weight' is inf, expected a finite number"),
        ("weight = 0.8", f"weight = 1{'0' * 400}", 7, "expected a finite number"),
        ("weight = 0.8", "count = 0", 7, "'count' is 0, expected 1 or more"),
        ("weight = 0.8", "characters = -5", 7, "'characters' is -5, expected 1 or more"),
        ('"guards"]', '{ use = "feedback", hits = -1 }]', 7, "step 'feedback': 'hits' is -1, expected 2 or more"),
        ('"guards"]', '{ use = "feedback", weight = nan }]', 7, "'weight' is nan, expected a finite number"),
        ('"guards"]', '{ use = "feedback", longest = 2 }]', 7, "'longest' is 2, expected 3 or more"),
        ('"guards"]', '{ use = "remember", origins = [[1]] }]', 7, "'origins' is [[1]], expected a list of texts"),
        ('"replay:replies.jsonl"', '"foo"', 19, "'models.rewrite': 'foo' names no model; expected anthropic:MODEL"),
        ('"replay:replies.jsonl"', '"openai:"', 19, "'models.rewrite': 'openai:' names no model"),
        ('"replay:replies.jsonl"', '"replay:nofile"', 19, "nofile: the recording cannot be read"),
        ("[masking]", '[cache]\npath = "."\n[masking]', 34, "'cache.path' is a folder, "),
        ("[leash]", 'answer = "replay:x"\n[leash]', 21, "'models.answer': "),
        ('"rules",', "3,", 7, "3 is no step"),
        ("seconds = 1.5", "seconds = 1.5\nhedge_after = 2.0", 23, "'leash.hedge_after' is below 'leash.seconds'"),
        ('query = "medicine for babies"', "", 51, "an example that expects nothing"),
        ('query = "medicine for babies"', "show = true", 51, "an example that is shown needs a reply"),
        ('query = "medicine for babies"', 'query = "x"\nhistory = [["nobody", "x"]]', 54, "a turn is a pair of"),
    ],
)
def test_a_mistake_has_its_file_and_line(tmp_path: Path, old: str, new: str, line: int, says: str) -> None:
    assert old in MINE
    path = write(tmp_path, MINE.replace(old, new))
    with pytest.raises(ProfileError) as caught:
        load_profile(path)
    assert says in str(caught.value)
    assert (caught.value.path, caught.value.line) == (path, line)
    report = check_profile(path)
    assert not report.ok
    assert str(report).startswith(f"{path}:{line}: the file: ")


def test_two_guards_that_undo_each_other_are_an_error(tmp_path: Path) -> None:
    other = "\n[[guards]]\nid = 'back'\npattern = 'injection'\nreplacement = 'shot'\nreason = 'x'\n"
    with pytest.raises(ProfileError, match="never settles") as caught:
        load_profile(write(tmp_path, MINE + other))
    assert caught.value.line in (42, 58)
    twice = other.replace("'back'", "'shot'").replace("'injection'", "'jab'").replace("= 'shot'\nr", "= 'dose'\nr")
    with pytest.raises(ProfileError, match="guard 'shot' stands twice"):
        load_profile(write(tmp_path, MINE + twice))


def test_a_bad_lexicon_and_a_bad_prompt_say_their_own_file_and_line(tmp_path: Path) -> None:
    path = write(tmp_path)
    (tmp_path / "words.txt").write_text("meds => medicine\n=> x\n", "utf-8")
    with pytest.raises(LexiconError) as caught:
        load_profile(path).build()
    assert (caught.value.path, caught.value.line) == (tmp_path / "words.txt", 2)
    assert str(check_profile(path)).startswith(f"{tmp_path / 'words.txt'}:2: the file: ")
    (tmp_path / "p.toml").write_text("about = 1\n", "utf-8")
    with pytest.raises(PromptError) as other:
        load_profile(write(tmp_path, 'steps = ["p.toml"]'))
    assert (other.value.path, other.value.line) == (tmp_path / "p.toml", 1)


def test_an_unknown_profile_is_an_error_that_names_the_shipped() -> None:
    with pytest.raises(ProfileError, match="no profile 'road-lwa'; shipped: default, road-law"):
        load_profile("road-lwa")


def test_a_name_that_names_no_model_is_an_error(tmp_path: Path) -> None:
    profile = replace(load_profile(write(tmp_path)), rewrite_model="nobody", answer_model="nobody")
    with pytest.raises(ProfileError, match=r"'models\.rewrite': 'nobody' names no model"):
        rewriters(profile)
    with pytest.raises(ProfileError, match=r"'models\.answer': 'nobody' names no model"):
        profile.build(Parts(llm=ScriptedModel({})))


async def test_a_model_given_instead_of_the_profiles_is_not_called_its_own(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match=r"^the model given: 'nobody' names no model") as caught:
        await open_dragoman(write(tmp_path), model="nobody")
    assert caught.value.path is None


def test_a_cache_path_that_is_another_file_is_an_error_and_the_file_stays(tmp_path: Path) -> None:
    profile = load_profile(write(tmp_path, f'{MINE}\n[cache]\npath = "words.txt"\n'))
    with pytest.raises(ProfileError, match=r"'cache\.path': .*words\.txt is no cache: it is no SQLite file"):
        profile.build()
    assert (tmp_path / "words.txt").read_text("utf-8") == "meds => medicine\n"


async def test_a_cache_that_cannot_be_made_costs_its_use_and_no_question(tmp_path: Path) -> None:
    path = write(tmp_path, f'{MINE}\n[cache]\npath = "words.txt/below a file.sqlite"\n')
    with load_profile(path).build() as hall:
        assert (await hall.arewrite("hello, flu shot")).searches


def test_a_step_that_cannot_be_made_has_its_file_and_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def make(*_: object) -> None:
        raise ValueError("3 is too many")

    monkeypatch.setitem(STEPS, "lexicon", replace(STEPS["lexicon"], make=make))
    with pytest.raises(ProfileError, match=r"mine\.toml:7: step 'lexicon': 3 is too many"):
        rewriters(load_profile(write(tmp_path)))


async def test_a_model_that_cannot_be_opened_says_why_at_every_question_and_stops_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY_FILE", raising=False)
    path = write(tmp_path, 'steps = ["rephrase"]\n[models]\nrewrite = "openai:gpt-x"\nanswer = "openai:gpt-x"')
    async with await open_dragoman(path) as hall:
        (step,) = (await hall.arewrite("how are you")).steps
    assert (step.outcome, "OPENAI_API_KEY" in step.reason or "openai" in step.reason) == (Outcome.FAILED, True)


async def test_an_absent_model_writes_nothing_either() -> None:
    from dragoman.errors import LLMUnavailable

    with pytest.raises(LLMUnavailable, match="no key"):
        [piece async for piece in Absent("m", "no key").stream("", "", 1)]


async def test_open_dragoman_takes_another_model_and_one_step_alone(tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    path = write(tmp_path)
    other.write_text('{"question": "hello, flu shot", "searches": ["grippe shot"]}\n', "utf-8")
    async with await open_dragoman(path, model=f"replay:{other}", only="rephrase") as hall:
        rewriting = await hall.arewrite("hello, flu shot")
    assert [step.name for step in rewriting.steps] == ["rephrase"]
    assert [search.text for search in rewriting.searches] == ["grippe injection"]


def test_history_of_an_example_reaches_the_steps(tmp_path: Path) -> None:
    profile = Profile.read(write(tmp_path, 'steps = ["contextualise"]'))
    value = {"depends_on_history": True, "rewritten": "dose of ibuprofen for babies"}
    steps = rewriters(profile, Parts(llm=ScriptedModel(value)))
    asked = Question("and for babies?", (Message("user", "dose of ibuprofen"),))
    given_back = Chain(steps)(Rewriting.of(asked))
    assert not isinstance(given_back, Rewriting)
    import asyncio

    assert asyncio.run(_of(given_back)).query == value["rewritten"]


async def _of(given_back: object) -> Rewriting:
    return await given_back  # type: ignore[misc, no-any-return]


def test_every_step_says_what_it_does() -> None:
    assert all(kind.about and not re.search(r"\.$", kind.about) for kind in STEPS.values())


async def test_a_model_that_was_opened_here_is_closed_with_the_hall(tmp_path: Path) -> None:
    reply = '{"about_corpus": true, "searches": ["influenza vaccination"]}'
    with ScriptedServer(Says(reply)) as server:
        name = f"openai:m@{server.openai}"
        path = write(tmp_path, MINE.replace("replay:replies.jsonl", name))
        for hall in (load_profile(path).build(), await open_dragoman(path, model=name)):
            step = next(each for each in hall.steps if isinstance(each, Prompted))
            await hall.arewrite("flu shot")
            client = await innermost(step.llm)._source.get()  # type: ignore[attr-defined]  # what is to be closed
            assert not client.is_closed()
            await hall.aclose()
            assert client.is_closed()


def test_every_limit_of_a_steps_option_is_the_steps_own() -> None:
    from dragoman.rewriters.feedback import FeedbackSettings

    limits = {name: option.least for name, option in STEPS["feedback"].options.items() if option.least is not None}
    assert limits["longest"] == FeedbackSettings().short
    for name, least in limits.items():
        made = FeedbackSettings(**{name: least})  # type: ignore[arg-type]  # whole where it is to be
        assert getattr(made, name) == least
