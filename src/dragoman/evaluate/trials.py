"""Further trials of the same arms: with noise put in, on off-topic questions, without judgments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dragoman.evaluate.agreement import agreement, overlap, sayable
from dragoman.evaluate.collections import Collection
from dragoman.evaluate.compare import compare
from dragoman.evaluate.evaluation import Evaluation
from dragoman.evaluate.files import Asked
from dragoman.evaluate.measures import MAIN, per_question
from dragoman.evaluate.run import Arm, ArmRun, Progress, run_arm
from dragoman.vocabulary import Vocabulary


async def noise_trial(
    clean: Mapping[str, ArmRun], arms: Sequence[Arm], noisy: Collection, *, seed: int, progress: Progress | None
) -> dict[str, dict[str, Any]]:
    """Every arm on the same questions with greetings, thanks and fillers put in.

    Returns:
        Arm -> `overlap@10`, the mean share of the first ten hits that the noise left, and `same_query`,
        the share of questions of which the arm made the same as without noise; where questions are
        judged also `clean` and `noisy` (mean nDCG@10 of this arm on both), and `delta`, `interval`
        and `p` of the noisy against the clean.
    """
    ids = [asked.id for asked in noisy.judged]
    data: dict[str, dict[str, Any]] = {}
    for arm in arms:
        found = await run_arm(arm, noisy.questions, progress)
        run, before = found.run, clean[arm.name].run
        same = [
            a.rewriting.query == b.rewriting.query
            for a, b in zip(found.answered, clean[arm.name].answered, strict=True)
        ]
        data[arm.name] = {
            "overlap@10": float(np.mean([overlap(run[identity], before[identity]) for identity in run])),
            "same_query": float(np.mean(same)),
        }
        if ids:
            values = [per_question(noisy.qrels, each, ids)[MAIN] for each in (before, run)]
            against = compare(values[0], values[1], seed=seed)
            data[arm.name] |= {
                "clean": float(values[0].mean()),
                "noisy": float(values[1].mean()),
                "delta": against.delta,
                "interval": [against.low, against.high],
                "p": against.p,
            }
    return data


async def off_topic_trial(
    evaluation: Mapping[str, ArmRun], arms: Sequence[Arm], asked: Sequence[Asked]
) -> dict[str, dict[str, Any]]:
    """Every arm on questions that the corpus cannot answer.

    Returns:
        Arm -> `asked`, `held` (how many it held off-topic), and `refused` (the share of the
        collection's own questions that it held off-topic, which should be none).
    """
    data = {}
    for arm in arms:
        run = await run_arm(arm, asked)
        own = evaluation[arm.name].answered
        data[arm.name] = {
            "asked": len(asked),
            "held": sum(each.rewriting.off_topic for each in run.answered),
            "refused": sum(each.rewriting.off_topic for each in own) / len(own),
        }
    return data


async def unlabelled_trial(
    collection: Collection, arms: Sequence[Arm], vocabulary: Vocabulary | None, progress: Progress | None
) -> tuple[dict[str, ArmRun], dict[str, Any]]:
    """Every arm without judgments: are its searches in the corpus's words, and do the arms agree?

    Returns:
        The runs by arm, and `arms` (name -> milliseconds, outcomes, rules, tokens and, with a
        vocabulary, `held`, `empty` and `searches`) and `agreement` as plain data.
    """
    runs = {arm.name: await run_arm(arm, collection.questions, progress) for arm in arms}
    data: dict[str, Any] = {}
    for name, run in runs.items():
        seconds = [each.seconds for each in run.answered]
        data[name] = {
            "p50_ms": float(np.percentile(seconds, 50)) * 1000,
            "p99_ms": float(np.percentile(seconds, 99)) * 1000,
            "outcomes": run.outcomes,
            "rules": run.rules,
            "tokens": {"in": run.usage.tokens_in, "out": run.usage.tokens_out},
        }
        if vocabulary is not None:
            words = sayable(run, vocabulary)
            data[name] |= {"held": words.held, "empty": words.empty, "searches": words.searches}
    return runs, {"arms": data, "agreement": agreement(list(runs.values()))}


def runs_of(evaluation: Evaluation) -> dict[str, ArmRun]:
    """The runs of an evaluation by arm."""
    return {name: arm.run for name, arm in evaluation.arms.items()}
