"""What `dragoman evaluate` does: from its options to figures, files and a verdict."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from dragoman import portal
from dragoman.errors import CollectionError
from dragoman.evaluate import printed, unanswered
from dragoman.evaluate.arms import CONCURRENCY, Bench, Made, Spec, is_recorded, is_run, make, read_specs
from dragoman.evaluate.beforehand import Given, makes_known_items, of_searches, of_texts, to_write
from dragoman.evaluate.collections import Collection
from dragoman.evaluate.data import alone, as_data
from dragoman.evaluate.engine import engine
from dragoman.evaluate.evaluation import DEPTH, ArmResult, Evaluation, Prices, evaluate
from dragoman.evaluate.failif import check, failures
from dragoman.evaluate.fidelity import Fidelity, fidelity, fidelity_data, read_pairs
from dragoman.evaluate.growth import growing, growth
from dragoman.evaluate.recorded import Ids
from dragoman.evaluate.references import with_references
from dragoman.evaluate.report import Extra, page, table_page
from dragoman.evaluate.run import RAW, ArmRun, Progress, write_runs
from dragoman.evaluate.synthetic import known_items, noisy
from dragoman.evaluate.trials import noise_trial, off_topic_trial, runs_of, unlabelled_trial
from dragoman.evaluate.tune import Table, as_toml, tables, tune, tuned_weights
from dragoman.evaluate.verdict import leading, notes_of
from dragoman.profile import Profile, load_profile
from dragoman.profile_steps import Parts, open_model
from dragoman.protocols import LLM

KNOWN_ITEMS = 200


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for; the command's options by their names.

    Attributes:
        collection: a folder of questions and judgments, or a file of `raw` and `rewrite` rows.
        arms: as `arms.read_specs` takes them.
        index: made by `dragoman index`; built there from the collection's corpus where nothing is,
            in a temporary place where it is None. Or, as a text, an engine's address.
        embedder: who made an engine's vectors; None: it is searched by words.
        filters: as `Collection.filtered` takes them.
        ceiling: questions of the same ids in the corpus's own words.
        off_topic: questions that the corpus cannot answer.
        noise, unlabelled, tune, learning_curve: further trials; see `trials`, `tune` and `growth`.
        known_items: how many questions to make from the corpus where nothing is judged; 0 for none.
        guards: folders of collections that tuned weights must not harm; filtered as the collection is.
    """

    collection: Path
    arms: tuple[str, ...] = (RAW,)
    index: Path | str | None = None
    embedder: str | None = None
    profile: str = "default"
    model: str | None = None
    filters: tuple[str, ...] = ()
    queries: Path | None = None
    qrels: Path | None = None
    ceiling: Path | None = None
    off_topic: Path | None = None
    json: Path | None = None
    report: Path | None = None
    runs: Path | None = None
    fail_if: tuple[str, ...] = ()
    prices: Prices | None = None
    noise: bool = False
    unlabelled: bool = False
    tune: bool = False
    learning_curve: bool = False
    known_items: int = KNOWN_ITEMS
    guards: tuple[Path, ...] = ()
    seed: int = 0
    concurrency: int = CONCURRENCY
    progress: Progress | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    """What came of it.

    Attributes:
        text: for a person at a terminal.
        data: what `--json` writes.
        failures: conditions of `--fail-if` that came true, with their values, or whose figure is not there.
        evaluation: the figures themselves; None where nothing was judged.
    """

    text: str
    data: dict[str, Any]
    failures: tuple[str, ...] = ()
    evaluation: Evaluation | None = field(default=None, repr=False)


def run_evaluate(options: Options) -> Finished:
    """Do all that was asked for, and write the files that were named.

    Raises:
        CollectionError, ProfileError, IndexStateError: one of them cannot be used, or an option that nothing
            would come of; before anything is run.
        ArmError, ConditionError: an arm or a condition that cannot be read; before anything is run.
        RetrievalError: an engine cannot be reached.
        MissingExtraError: the measures library is not installed.
    """
    specs = read_specs(options.arms)
    to_write(options)
    for condition in options.fail_if:
        check(condition, tuple(spec.name for spec in with_references(specs)))
    profile = load_profile(options.profile)
    if options.collection.is_file():
        finished = _fidelity(options, specs, profile)
    else:
        finished = _searched(options, specs, profile)
    if options.json:
        _write(options.json, json.dumps(finished.data, ensure_ascii=False, indent=1) + "\n")
    return replace(
        finished, failures=failures(options.fail_if, finished.data.get("known_items", finished.data)["arms"])
    )


def _searched(options: Options, specs: tuple[Spec, ...], profile: Profile) -> Finished:
    given = of_searches(options, specs, profile)
    collection, only_runs = given.collection, all(is_run(spec) for spec in specs)
    labelled = bool(collection.judged) and not options.unlabelled
    with engine(collection, options.index, options.embedder, only_runs=only_runs) as (opened, vocabulary):
        parts = Parts(vocabulary=vocabulary, llm=_model(options, profile))
        bench = Bench(profile, parts, Ids(collection), options.concurrency, opened)
        made = [make(spec, bench, DEPTH) for spec in (with_references(specs) if labelled else specs)]
        return portal.run((_labelled if labelled else _unlabelled)(options, given, made, bench))


def _model(options: Options, profile: Profile) -> LLM | None:
    name = options.model or profile.rewrite_model
    return open_model(name, profile) if name else None


async def _labelled(options: Options, given: Given, made: list[Made], bench: Bench) -> Finished:
    collection = given.collection
    if given.ceiling is not None:
        bench.ids.add(given.ceiling)
    arms = [each.arm for each in made]
    recalling = growing(read_specs(options.arms), made) if options.learning_curve else []
    found = await evaluate(collection, arms, seed=options.seed, ceiling=given.ceiling, progress=options.progress)
    data = as_data(found, options.prices)
    notes = [*notes_of(found), *printed.missing(made), *unanswered.lines(_unanswered(runs_of(found)))]
    text = [printed.figures(found, options.prices), *notes]
    extras: list[Extra] = [("To be noted", printed.html_pre("\n".join(notes)))] if notes else []
    if steps := alone(found):
        data["rewriting_alone"] = steps
        text += ["", printed.trial("rewriting_alone", steps)]
        extras.append((printed.HEADINGS["rewriting_alone"], printed.html_table(steps)))
    text += ["", data["verdict"]]
    asked = [each for each in made if each.arm.asked]
    for name, trial in (await _trials(options, given, asked, bench, runs_of(found))).items():
        data[name] = trial
        text += ["", printed.trial(name, trial)]
        extras.append((printed.HEADINGS[name], printed.html_table(trial)))
    if options.tune:
        data["tuned"] = await _tuned(options, given, made, bench, _with_weights(found, asked))
        text += ["", printed.tuned(data["tuned"])]
        extras.append(("Weights set on these questions", printed.html_pre(printed.tuned(data["tuned"]))))
    for spec in recalling:
        points = await growth(spec, bench, collection, options.progress)
        data.setdefault("learning_curve", {})[spec.name] = [asdict(point) for point in points]
        text += ["", printed.growth(spec.name, points)]
        extras.append(
            (f"{spec.name}: what its memory brings as it grows", printed.html_growth(points, found.raw.mean()))
        )
    if options.runs:
        write_runs(list(runs_of(found).values()), options.runs)
    if options.report:
        _write(options.report, page(found, extras, options.prices))
    return Finished("\n".join(text), data, evaluation=found)


def _unanswered(runs: Mapping[str, ArmRun]) -> dict[str, unanswered.Unanswered]:
    return {name: run.unanswered for name, run in runs.items()}


async def _trials(
    options: Options, given: Given, made: list[Made], bench: Bench, runs: dict[str, ArmRun]
) -> dict[str, dict[str, Any]]:
    arms = [each.arm for each in made]
    found: dict[str, dict[str, Any]] = {}
    if options.noise:
        talked = noisy(given.collection, language=_code(bench.profile), seed=options.seed)
        bench.ids.add(talked)
        found["noise"] = await noise_trial(runs, arms, talked, seed=options.seed, progress=options.progress)
    if given.off_topic:
        bench.ids.add(Collection("off-topic", given.off_topic))
        found["off_topic"] = await off_topic_trial(runs, arms, given.off_topic)
    return found


def _code(profile: Profile) -> str:
    return profile.language.question if profile.language.question != "any" else "en"


def _with_weights(found: Evaluation, made: list[Made]) -> ArmResult:
    """The leading arm of those that weights can be set for; a run file has none."""
    names = {each.arm.name for each in made if each.hall is not None}
    return leading(replace(found, arms={name: arm for name, arm in found.arms.items() if name in names})) or found.raw


async def _tuned(options: Options, given: Given, made: list[Made], bench: Bench, leader: ArmResult) -> dict[str, Any]:
    """The leading arm's weights, set on the collection and watched on the guards."""
    one = next(each for each in made if each.arm.name == leader.name)
    if one.hall is None:
        raise CollectionError(f"arm {leader.name!r} is a run file; there are no weights to set", options.collection)
    spec = next(spec for spec in read_specs(options.arms) if spec.name == leader.name)
    learning = await tables(one.hall, given.collection, options.progress)
    watched: dict[str, Sequence[Table]] = {}
    for guard in given.guards:
        bench.ids.add(guard)
        with engine(guard, None) as (opened, vocabulary):
            inner = replace(bench, parts=replace(bench.parts, vocabulary=vocabulary), engine=opened)
            hall = make(spec, inner, DEPTH).hall
            watched[guard.name] = await tables(hall, guard, options.progress) if hall is not None else []
    found = tune(learning, seed=options.seed, guards=watched)
    return printed.tuned_data(leader.name, found, as_toml(tuned_weights(one.hall.settings.weights, found.factors)))


async def _unlabelled(options: Options, given: Given, made: list[Made], bench: Bench) -> Finished:
    collection = given.collection
    arms = [each.arm for each in made]
    runs, data = await unlabelled_trial(collection, arms, bench.parts.vocabulary, options.progress)
    data = {"collection": collection.name, "questions": len(collection.questions), **data}
    text = [printed.unlabelled(data), *printed.missing(made), *unanswered.lines(_unanswered(runs))]
    extras: list[Extra] = [("Agreement of the arms", printed.html_table(printed.agreement_rows(data)))]
    for name, trial in (await _trials(options, given, made, bench, runs)).items():
        data[name] = trial
        text += ["", printed.trial(name, trial)]
        extras.append((printed.HEADINGS[name], printed.html_table(trial)))
    known = await _known(options, collection, made, bench)
    if known is not None:
        data["known_items"] = as_data(known, options.prices)
        text += ["", printed.KNOWN, printed.figures(known)]
        extras.append((printed.KNOWN, printed.html_table(printed.known_rows(data["known_items"]))))
    data["verdict"] = printed.unlabelled_verdict(data)
    text += ["", data["verdict"]]
    if options.runs:
        write_runs(list(runs.values()), options.runs)
    if options.report:
        extras.insert(0, ("Every arm", printed.html_table(printed.unlabelled_rows(data))))
        _write(options.report, table_page(f"{collection.name}, without judgments", data["verdict"], extras))
    return Finished("\n".join(text), data)


async def _known(options: Options, collection: Collection, made: list[Made], bench: Bench) -> Evaluation | None:
    """The arms on questions made from the corpus; recordings know nothing of these and are left out.

    None where there are no such questions, or where `raw` is a recording itself.
    """
    specs = read_specs(options.arms)
    vocabulary, corpus = bench.parts.vocabulary, collection.corpus
    if not makes_known_items(options, specs, collection) or corpus is None or vocabulary is None:
        return None
    items = known_items(corpus, vocabulary, options.known_items, seed=options.seed)
    recorded = {spec.name for spec in specs if is_recorded(spec)}
    arms = [each.arm for each in made if each.hall is not None and each.arm.name not in recorded]
    return await evaluate(items, arms, seed=options.seed, progress=options.progress)


def _fidelity(options: Options, specs: tuple[Spec, ...], profile: Profile) -> Finished:
    of_texts(options, specs)
    pairs = read_pairs(options.collection)
    bench = Bench(profile, Parts(llm=_model(options, profile)), Ids(), options.concurrency)
    made = [make(spec, bench, DEPTH) for spec in specs]

    async def work() -> tuple[Fidelity, ...]:
        arms = [each.arm for each in made]
        return await fidelity(pairs, arms, language=_code(profile), progress=options.progress)

    found = portal.run(work())
    arms = fidelity_data(found, options.seed)
    data = {"collection": options.collection.stem, "rows": len(pairs), "arms": arms}
    notes = [*printed.missing(made), *unanswered.lines({each.name: each.unanswered for each in found})]
    text = "\n".join([printed.fidelity(data), *notes])
    if options.report:
        lead = f"{len(pairs):,} rows: how close each arm's text comes to a person's."
        title = f"Text fidelity on {options.collection.stem}"
        _write(options.report, table_page(title, lead, [("Every arm", printed.html_table(arms))]))
    return Finished(text, data)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8", errors="replace")
