"""What is seen to before an arm runs: options that go together, figures there will be, files to read and to write.

An hour of a model's replies is not to be lost to a misspelt figure or to a file that is not there.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.errors import CollectionError
from dragoman.evaluate import fidelity
from dragoman.evaluate.arms import ArmError, Spec, is_recorded, is_run
from dragoman.evaluate.collections import Collection, read_collection
from dragoman.evaluate.failif import check
from dragoman.evaluate.files import Asked, read_questions
from dragoman.evaluate.growth import remembered
from dragoman.evaluate.measures import MEASURES, UNJUDGED
from dragoman.evaluate.references import with_references
from dragoman.evaluate.tune import FOLDS
from dragoman.profile import Profile

if TYPE_CHECKING:
    from dragoman.evaluate.request import Options

_OF_SEARCHES = (
    *("index", "embedder", "filters", "queries", "qrels", "ceiling", "off_topic", "runs", "prices"),
    *("noise", "unlabelled", "tune", "learning_curve", "guards"),
)
_OF_JUDGMENTS = ("ceiling", "tune", "learning_curve", "guards")
_FLAGS = {"filters": "--filter", "guards": "--guard"}  # options that are called otherwise than their attributes
_MILLISECONDS = ("p50_ms", "p99_ms")
_MEASURED = (*MEASURES, *fidelity.COMPARED, "harm", UNJUDGED, *_MILLISECONDS, "failed")
_WORDS = ("held", "empty", "searches")


@dataclass(frozen=True, slots=True)
class Given:
    """The files that were named, read.

    Attributes:
        ceiling: the collection in the corpus's own words; None where it was not asked for.
        off_topic: questions that the corpus cannot answer.
        guards: judged collections with a corpus, filtered as the collection is.
    """

    collection: Collection
    ceiling: Collection | None
    off_topic: tuple[Asked, ...]
    guards: tuple[Collection, ...]


def of_texts(options: Options, specs: Sequence[Spec]) -> None:
    """See that what was asked for can be had from a file of rewrites.

    Raises:
        CollectionError: an option of searches; ConditionError: a figure that there will not be.
    """
    _refuse(options, _OF_SEARCHES, "a file of rewrites is compared as text and nothing is searched")
    _check(options, [spec for spec in specs if not is_run(spec)], fidelity.FIGURES)


def to_write(options: Options) -> None:
    """See that the files to write can be written. Nothing is made yet.

    Raises:
        CollectionError: a folder stands where a file is to be, a file where a folder, or one may not write there.
    """
    for path in (options.json, options.report):
        if path is not None and path.is_dir():
            raise CollectionError("a folder; expected the name of a file to write, as in figures.json", path)
    for path in (options.json, options.report, options.runs):
        if path is None:
            continue
        there = next(each for each in (path, *path.absolute().parents) if each.exists())
        if not there.is_dir() and (there != path or path is options.runs):
            raise CollectionError(f"cannot be written, for {there} is a file; name another place", path)
        if not os.access(there, os.W_OK):
            raise CollectionError(f"cannot be written, for {there} may not be written to; name another place", path)


def of_searches(options: Options, specs: Sequence[Spec], profile: Profile) -> Given:
    """See that what was asked for can be had from a folder of questions, and read all that was named.

    Raises:
        CollectionError: a file that cannot be read, too few judgments, or an option that needs some.
        ConditionError: a figure that there will not be; ArmError: no arm has weights to set.
        ProfileError: a learning curve is asked for, and nothing is remembered.
    """
    collection = read_collection(options.collection, options.queries, options.qrels).filtered(options.filters)
    ceiling = collection.asking(options.ceiling).filtered(options.filters) if options.ceiling else None
    off_topic = read_questions(options.off_topic) if options.off_topic else ()
    if not options.unlabelled:
        _judges(collection)
    if options.unlabelled or not collection.judged:
        _refuse(options, _OF_JUDGMENTS, "no question is measured by a judgment here (--qrels FILE names some)")
        _check_unlabelled(options, specs, collection)
    else:
        more = [*(["gap_closed"] if ceiling else []), *(["cost"] if options.prices else [])]
        _check(options, with_references(specs), (*_MEASURED, *more))
    if options.learning_curve:
        remembered(profile)
    if options.tune:
        _tunable(collection, specs)
    return Given(collection, ceiling, off_topic, tuple(_guard(folder, options) for folder in options.guards))


def makes_known_items(options: Options, specs: Sequence[Spec], collection: Collection) -> bool:
    """Whether arms without judgments are asked questions made from the corpus; where `raw` is a run, they are not."""
    searched = not any(is_run(spec) for spec in specs[:1])
    return bool(options.known_items) and collection.corpus is not None and searched


def _check_unlabelled(options: Options, specs: Sequence[Spec], collection: Collection) -> None:
    if makes_known_items(options, specs, collection):
        asked = [spec for spec in specs if not (is_run(spec) or is_recorded(spec))]
        _check(options, asked, (*_MEASURED, *(["cost"] if options.prices else [])))
    else:
        words = _WORDS if options.index or not all(is_run(spec) for spec in specs) else ()
        _check(options, specs, (*_MILLISECONDS, *words))


def _check(options: Options, specs: Sequence[Spec], figures: Sequence[str]) -> None:
    for condition in options.fail_if:
        check(condition, [spec.name for spec in specs], figures)


def _refuse(options: Options, names: Sequence[str], why: str) -> None:
    """Say which of these options were given, for nothing would come of them."""
    given = [_FLAGS.get(name, "--" + name.replace("_", "-")) for name in names if getattr(options, name)]
    if given:
        raise CollectionError(f"{why}; leave out {', '.join(given)}", options.collection)


def _judges(collection: Collection) -> None:
    """See that judgments, where there are some, are of these questions, and hold one that finds something relevant."""
    if collection.judged or not collection.qrels:
        return
    count, first = len(collection.qrels), next(iter(collection.qrels))
    name = collection.path.name if collection.path else collection.name
    if not any(asked.id in collection.qrels for asked in collection.questions):
        raise CollectionError(
            f"none of the {count:,} judged ids (the first: {first!r}) is in {name}; give the judgments' own questions "
            "(--queries FILE, --qrels FILE), or --unlabelled to compare without judgments",
            collection.path,
        )
    raise CollectionError(
        f"no question of {name} has a document with a grade above 0, so none is measured; give other judgments "
        "(--qrels FILE), or --unlabelled to compare without judgments",
        collection.path,
    )


def _tunable(collection: Collection, specs: Sequence[Spec]) -> None:
    if len(collection.judged) < FOLDS:
        raise CollectionError(
            f"{len(collection.judged)} questions with a document judged relevant; --tune deals them into {FOLDS} "
            f"parts and needs {FOLDS} or more: judge more, or leave out --tune",
            collection.path,
        )
    if all(is_run(spec) for spec in specs):
        raise ArmError("every arm is a run file, which has no weights; name an arm of steps, or leave out --tune")


def _guard(folder: Path, options: Options) -> Collection:
    guard = read_collection(folder).filtered(options.filters)
    if not guard.judged or guard.corpus is None:
        lacks = "no question with a document judged relevant" if guard.corpus else "no corpus.jsonl to index"
        raise CollectionError(f"{lacks}; a guard is searched and measured, and needs both", folder)
    return guard
