"""What the figures come to, in plain words: which arm to switch on, that none pays, or that one cannot tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dragoman.evaluate.compare import LEVEL, Comparison, holm
from dragoman.evaluate.evaluation import ArmResult, Evaluation
from dragoman.evaluate.measures import MAIN
from dragoman.evaluate.run import RAW
from dragoman.evaluate.unanswered import said as unanswered_said

SMALL = 0.01  # nDCG@10; a difference inside this is not worth a step
SAME = 0.002  # nDCG@10; of arms this near to each other the quickest is named
MUCH_HARM = 0.05  # share of harmed questions that is said beside a gain
# What was seen in none of n questions befalls at most 3 in n of them, 95 times in 100 (the rule of
# three; Hanley and Lippman-Hand, JAMA 1983), and no question gains more than 1.
BOUNDED = round(3 / SMALL)


def verdict(evaluation: Evaluation) -> str:
    """One short paragraph.

    An arm pays when its interval lies above 0 and its p, adjusted for the number of arms looked at
    (Holm), is under .05, against `raw` and, where it has steps, against its reference too: else what it
    gains is its fusion's, and that is what pays. One none of whose steps ran never does. Of those that
    pay the one with the highest mean is named, and the fastest that reaches nearly as much. None pays
    when no interval reaches above `SMALL`; but an interval over a few questions, or over ties, is narrow
    whatever others would have done: with fewer than `differing` that are not even, and fewer than
    `BOUNDED` in all, one cannot tell.
    """
    others = evaluation.others
    if not others:
        return f"Only raw was run: {MAIN} {evaluation.raw.mean():.3f} over {_questions(evaluation)}."
    return _found(evaluation, _heard(others)) + _unheard(others)


def _found(evaluation: Evaluation, arms: list[ArmResult]) -> str:
    """What is said of the arms whose steps ran."""
    if not arms:
        return f"Cannot tell with {_questions(evaluation)}: no arm's steps ran."
    pays = paying(evaluation)
    if pays:
        return _switch_on(evaluation, pays)
    adjusted = holm({arm.name: arm.comparison.p for arm in evaluation.others})
    harms = [arm for arm in arms if arm.comparison.high < 0 and adjusted[arm.name] < LEVEL]
    few = differing(len(evaluation.others))
    open_ones = [
        arm for arm in arms if arm not in harms and (arm.comparison.high > SMALL or _too_few(arm.comparison, few))
    ]
    if open_ones:
        return _cannot_tell(evaluation, _best(open_ones), harms)
    return _none_pays(evaluation, _best(arms), harms)


def paying(evaluation: Evaluation) -> list[ArmResult]:
    """The arms that pay; see `verdict`."""
    others = evaluation.others
    gains = _gaining({arm.name: arm.comparison for arm in others})
    alone = _gaining({arm.name: arm.alone.comparison for arm in others if arm.alone})
    return [arm for arm in _heard(others) if arm.name in gains and (arm.alone is None or arm.name in alone)]


def _gaining(comparisons: Mapping[str, Comparison]) -> set[str]:
    adjusted = holm({name: against.p for name, against in comparisons.items()})
    return {name for name, against in comparisons.items() if against.low > 0 and adjusted[name] < LEVEL}


def _heard(arms: Sequence[ArmResult]) -> list[ArmResult]:
    return [arm for arm in arms if not arm.idle]


def _best(arms: Sequence[ArmResult]) -> ArmResult:
    """The highest; of those that were asked for, where there are any."""
    return max([arm for arm in arms if arm.asked] or arms, key=lambda arm: arm.comparison.delta)


def differing(arms: int) -> int:
    """The fewest questions that must not be even for a paired test to show one of so many arms.

    All won, n such questions come to p = 2 / 2^n, which is adjusted for the number of arms.
    """
    return next(n for n in range(1, 64) if arms * 2 / 2**n < LEVEL)


def _too_few(against: Comparison, few: int) -> bool:
    return against.wins + against.losses < few and against.questions < BOUNDED


def leading(evaluation: Evaluation) -> ArmResult | None:
    """The arm to look at first: of those that pay, else of those asked for, the best, and of equals the quickest."""
    arms = paying(evaluation) or _heard(evaluation.asked) or evaluation.asked
    most = max((arm.comparison.delta for arm in arms), default=0.0)
    equals = [arm for arm in arms if arm.comparison.delta >= most - SAME]
    return min(equals, key=lambda arm: arm.milliseconds(50), default=None)


def _switch_on(evaluation: Evaluation, pays: list[ArmResult]) -> str:
    best = leading(evaluation) or pays[0]
    steps = [arm for arm in evaluation.others if arm.alone is not None and arm.alone.reference == best.name]
    named = f"the fusion ({best.name})" if steps else best.name
    said = (
        f"Switch on {named}: {MAIN} {evaluation.raw.mean():.3f} -> {best.mean():.3f} "
        f"({_difference(best.comparison)}) over {_questions(evaluation)}; {_score(best)}, "
        f"{_ms(best)} at p50."
    )
    if best.comparison.harm >= MUCH_HARM:
        said += f" It harms {best.comparison.harm:.0%} of the questions by more than .1: read its worst losses first."
    said += _of_its_steps(best) + _no_step(steps)
    quick = [arm for arm in pays if arm.comparison.delta >= best.comparison.delta - SMALL]
    fastest = min(quick, key=lambda arm: arm.milliseconds(50))
    if fastest is not best and fastest.milliseconds(50) < best.milliseconds(50) / 2:
        said += f" {fastest.name} reaches nearly as much ({fastest.mean():.3f}) in {_ms(fastest)}."
    return said


def _of_its_steps(best: ArmResult) -> str:
    """What of the gain is the steps', and which of them took no part in it."""
    if best.alone is None:
        return ""
    said = ""
    if best.alone.reference != RAW:
        said = f" Against {best.alone.reference}, its fusion without steps: {_difference(best.alone.comparison)}."
    trouble = _trouble(best)
    return f"{said} But {', '.join(trouble)}." if trouble else said


def _no_step(steps: Sequence[ArmResult]) -> str:
    """Whether any step adds to the fusion that pays."""
    if not steps:
        return ""
    alone = {arm.name: arm.alone.comparison for arm in steps if arm.alone is not None and not arm.idle}
    if not alone:
        return " No step was there to add to it."
    most = max(alone, key=lambda name: alone[name].delta)
    difference = f"{most}, the best, differs from it by {_difference(alone[most])}."
    if any(against.high > SMALL for against in alone.values()):
        return f" Whether a step adds to it, one cannot tell: {difference}"
    return f" No step adds to it: {difference}"


def _cannot_tell(evaluation: Evaluation, best: ArmResult, harms: list[ArmResult]) -> str:
    said = f"Cannot tell with {_questions(evaluation)}: the best arm, {best.name}, differs from raw "
    against, few = best.comparison, differing(len(evaluation.others))
    if best.alone is not None and best.name in _gaining({arm.name: arm.comparison for arm in evaluation.others}):
        said += f"by {_difference(against)}, but from {best.alone.reference}, its fusion without steps, "
        against = best.alone.comparison
    if _too_few(against, few):
        said += (
            f"on {against.wins + against.losses:,} of them ({_difference(against)}); to tell, it takes at "
            f"least {few} that differ, or {BOUNDED} in all."
        )
    else:
        said += f"by {_difference(against)}, which may be chance."
    needed = against.needed()
    if against.delta > 0 and needed is not None and needed > len(evaluation.ids):
        said += f" About {needed:,} questions like these would show a difference of this size."
    elif against.delta <= 0:
        said += " Nothing here speaks for switching one on."
    return said + _harmful(harms)


def _none_pays(evaluation: Evaluation, best: ArmResult, harms: list[ArmResult]) -> str:
    return (
        f"None pays here: over {_questions(evaluation)} no arm gains more than {SMALL} {MAIN} on raw's "
        f"{evaluation.raw.mean():.3f}; the best, {best.name}, differs by {_difference(best.comparison)}. "
        "Leave rewriting off."
    ) + _harmful(harms)


def _harmful(harms: list[ArmResult]) -> str:
    if not harms:
        return ""
    return " Worse than raw: " + "; ".join(f"{arm.name} ({_difference(arm.comparison)})" for arm in harms) + "."


def _unheard(arms: Sequence[ArmResult]) -> str:
    """The arms that say nothing of their steps, and why."""
    said = [f"{arm.name} ({', '.join(_trouble(arm)) or 'no question came to its steps'})" for arm in arms if arm.idle]
    return f" Nothing can be said of {', of '.join(said)}." if said else ""


def notes_of(evaluation: Evaluation) -> list[str]:
    """What is to be known before the figures are read: arms nobody asked for, and that no arm found anything."""
    notes = [
        f"{arm.name}: a reference beside those asked for; it fuses as they do and takes no step"
        for arm in evaluation.others
        if not arm.asked
    ]
    if any(arm.mean("R@100") for arm in evaluation.arms.values()):
        return notes
    first = evaluation.ids[0]
    example = next(iter(evaluation.relevant(first)), "")
    return [
        *notes,
        f"No arm found any document that was judged relevant (the first: {example!r} for question {first!r}); "
        "see whether the index holds the documents of these judgments, by the same ids",
    ]


def _trouble(arm: ArmResult) -> list[str]:
    missing = arm.alone.missing if arm.alone is not None else ()
    return [*(f"{step} was left out" for step in missing), *unanswered_said(arm.run.unanswered)]


def _difference(against: Comparison) -> str:
    return f"{against.delta:+.3f}, 95% interval {against.low:+.3f} to {against.high:+.3f}, p {_p(against.p)}"


def _p(p: float) -> str:
    return "< .001" if p < 0.001 else f"{p:.3f}".replace("0.", ".")


def _ms(arm: ArmResult) -> str:
    ms = arm.milliseconds(50)
    return f"{ms:.1f} ms" if ms < 100 else f"{ms:,.0f} ms"


def _score(arm: ArmResult) -> str:
    against = arm.comparison
    return f"{against.wins} won, {against.ties} even, {against.losses} lost"


def _questions(evaluation: Evaluation) -> str:
    count = len(evaluation.ids)
    return f"{count:,} question{'' if count == 1 else 's'}"
