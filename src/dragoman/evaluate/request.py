"""What `dragoman evaluate` does: from its options to figures, files and a verdict."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from dragoman import portal
from dragoman.errors import CollectionError
from dragoman.evaluate import printed
from dragoman.evaluate.arms import CONCURRENCY, Bench, Made, Spec, is_run, make, read_specs
from dragoman.evaluate.collections import Collection, read_collection
from dragoman.evaluate.data import as_data
from dragoman.evaluate.engine import engine
from dragoman.evaluate.evaluation import DEPTH, ArmResult, Evaluation, Prices, evaluate
from dragoman.evaluate.failif import check, explain, holds
from dragoman.evaluate.fidelity import fidelity, fidelity_data, read_pairs
from dragoman.evaluate.files import read_questions
from dragoman.evaluate.growth import growing, growth
from dragoman.evaluate.recorded import Ids
from dragoman.evaluate.report import Extra, page, table_page
from dragoman.evaluate.run import RAW, ArmRun, Progress, write_runs
from dragoman.evaluate.synthetic import known_items, noisy
from dragoman.evaluate.trials import noise_trial, off_topic_trial, runs_of, unlabelled_trial
from dragoman.evaluate.tune import Table, as_toml, tables, tune, tuned_weights
from dragoman.evaluate.verdict import leading
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
            in a temporary place where it is None.
        filters: as `Collection.filtered` takes them.
        ceiling: questions of the same ids in the corpus's own words.
        off_topic: questions that the corpus cannot answer.
        noise, unlabelled, tune, learning_curve: further trials; see `trials`, `tune` and `growth`.
        known_items: how many questions to make from the corpus where nothing is judged; 0 for none.
        guards: folders of collections that tuned weights must not harm.
    """

    collection: Path
    arms: tuple[str, ...] = (RAW,)
    index: Path | None = None
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
        failures: conditions of `--fail-if` that came true, with their values.
        evaluation: the figures themselves; None where nothing was judged.
    """

    text: str
    data: dict[str, Any]
    failures: tuple[str, ...] = ()
    evaluation: Evaluation | None = field(default=None, repr=False)


def run_evaluate(options: Options) -> Finished:
    """Do all that was asked for, and write the files that were named.

    Raises:
        CollectionError, ProfileError, IndexStateError: one of them cannot be used.
        ArmError, ConditionError: an arm or a condition that cannot be read; before anything is run.
        MissingExtraError: the measures library is not installed.
    """
    specs = read_specs(options.arms)
    for condition in options.fail_if:
        check(condition, tuple(spec.name for spec in specs))
    profile = load_profile(options.profile)
    if options.collection.is_file():
        finished = _fidelity(options, specs, profile)
    else:
        finished = _searched(options, specs, profile)
    if options.json:
        _write(options.json, json.dumps(finished.data, ensure_ascii=False, indent=1) + "\n")
    return finished


def _searched(options: Options, specs: tuple[Spec, ...], profile: Profile) -> Finished:
    collection = read_collection(options.collection, options.queries, options.qrels).filtered(options.filters)
    with engine(collection, options.index, only_runs=all(is_run(spec) for spec in specs)) as (opened, vocabulary):
        parts = Parts(vocabulary=vocabulary, llm=_model(options, profile))
        bench = Bench(profile, parts, Ids(collection), options.concurrency, opened)
        made = [make(spec, bench, DEPTH) for spec in specs]
        work = _unlabelled if options.unlabelled or not collection.judged else _labelled
        return portal.run(work(options, collection, made, bench))


def _model(options: Options, profile: Profile) -> LLM | None:
    name = options.model or profile.rewrite_model
    return open_model(name, profile) if name else None


async def _labelled(options: Options, collection: Collection, made: list[Made], bench: Bench) -> Finished:
    ceiling = None if options.ceiling is None else collection.asking(options.ceiling).filtered(options.filters)
    if ceiling is not None:
        bench.ids.add(ceiling)
    arms = [each.arm for each in made]
    recalling = growing(read_specs(options.arms), made) if options.learning_curve else []
    found = await evaluate(collection, arms, seed=options.seed, ceiling=ceiling, progress=options.progress)
    data = as_data(found, options.prices)
    text = [printed.figures(found), *printed.missing(made), "", data["verdict"]]
    extras: list[Extra] = []
    for name, trial in (await _trials(options, collection, made, bench, runs_of(found))).items():
        data[name] = trial
        text += ["", printed.trial(name, trial)]
        extras.append((printed.HEADINGS[name], printed.html_table(trial)))
    if options.tune:
        data["tuned"] = await _tuned(options, collection, made, bench, leading(found) or found.raw)
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
        _write(options.report, page(found, extras))
    failures = tuple(explain(each, data["arms"]) for each in options.fail_if if holds(each, data["arms"]))
    return Finished("\n".join(text), data, failures, found)


async def _trials(
    options: Options, collection: Collection, made: list[Made], bench: Bench, runs: dict[str, ArmRun]
) -> dict[str, dict[str, Any]]:
    arms = [each.arm for each in made]
    found: dict[str, dict[str, Any]] = {}
    if options.noise:
        talked = noisy(collection, language=_code(bench.profile), seed=options.seed)
        bench.ids.add(talked)
        found["noise"] = await noise_trial(runs, arms, talked, seed=options.seed, progress=options.progress)
    if options.off_topic:
        asked = read_questions(options.off_topic)
        bench.ids.add(Collection("off-topic", asked))
        found["off_topic"] = await off_topic_trial(runs, arms, asked)
    return found


def _code(profile: Profile) -> str:
    return profile.language.question if profile.language.question != "any" else "en"


async def _tuned(
    options: Options, collection: Collection, made: list[Made], bench: Bench, leader: ArmResult
) -> dict[str, Any]:
    """The leading arm's weights, set on the collection and watched on the guards."""
    one = next(each for each in made if each.arm.name == leader.name)
    if one.hall is None:
        raise CollectionError(f"arm {leader.name!r} is a run file; there are no weights to set", collection.path)
    spec = next(spec for spec in read_specs(options.arms) if spec.name == leader.name)
    learning = await tables(one.hall, collection, options.progress)
    watched: dict[str, Sequence[Table]] = {}
    for folder in options.guards:
        guard = read_collection(folder)
        bench.ids.add(guard)
        with engine(guard, None) as (opened, vocabulary):
            inner = replace(bench, parts=replace(bench.parts, vocabulary=vocabulary), engine=opened)
            hall = make(spec, inner, DEPTH).hall
            watched[guard.name] = await tables(hall, guard, options.progress) if hall is not None else []
    found = tune(learning, seed=options.seed, guards=watched)
    return printed.tuned_data(leader.name, found, as_toml(tuned_weights(one.hall.settings.weights, found.factors)))


async def _unlabelled(options: Options, collection: Collection, made: list[Made], bench: Bench) -> Finished:
    arms = [each.arm for each in made]
    runs, data = await unlabelled_trial(collection, arms, bench.parts.vocabulary, options.progress)
    data = {"collection": collection.name, "questions": len(collection.questions), **data}
    text = [printed.unlabelled(data), *printed.missing(made)]
    extras: list[Extra] = [("Agreement of the arms", printed.html_table(printed.agreement_rows(data)))]
    for name, trial in (await _trials(options, collection, made, bench, runs)).items():
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
    figures = data["known_items"]["arms"] if known is not None else data["arms"]
    failures = tuple(explain(each, figures) for each in options.fail_if if holds(each, figures))
    return Finished("\n".join(text), data, failures)


async def _known(options: Options, collection: Collection, made: list[Made], bench: Bench) -> Evaluation | None:
    """The arms on questions made from the corpus; recordings know nothing of these and are left out."""
    if not options.known_items or collection.corpus is None or bench.parts.vocabulary is None:
        return None
    items = known_items(collection.corpus, bench.parts.vocabulary, options.known_items, seed=options.seed)
    arms = [each.arm for each in made if each.hall is not None and not _recorded(each)]
    return await evaluate(items, arms, seed=options.seed, progress=options.progress)


def _recorded(made: Made) -> bool:
    return made.hall is not None and any(step.name == "replay" for step in made.hall.chain.steps)


def _fidelity(options: Options, specs: tuple[Spec, ...], profile: Profile) -> Finished:
    pairs = read_pairs(options.collection)
    bench = Bench(profile, Parts(llm=_model(options, profile)), Ids(), options.concurrency)
    made = [make(spec, bench, DEPTH) for spec in specs]

    async def work() -> dict[str, Any]:
        arms = [each.arm for each in made]
        found = await fidelity(pairs, arms, language=_code(profile), progress=options.progress)
        return fidelity_data(found, options.seed)

    arms = portal.run(work())
    data = {"collection": options.collection.stem, "rows": len(pairs), "arms": arms}
    text = "\n".join([printed.fidelity(data), *printed.missing(made)])
    if options.report:
        lead = f"{len(pairs):,} rows: how close each arm's text comes to a person's."
        title = f"Text fidelity on {options.collection.stem}"
        _write(options.report, table_page(title, lead, [("Every arm", printed.html_table(arms))]))
    failures = tuple(explain(each, arms) for each in options.fail_if if holds(each, arms))
    return Finished(text, data, failures)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8", errors="replace")
