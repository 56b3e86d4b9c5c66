"""What the figures come to, in plain words: which arm to switch on, that none pays, or that one cannot tell."""

from __future__ import annotations

from dragoman.evaluate.compare import holm
from dragoman.evaluate.evaluation import ArmResult, Evaluation
from dragoman.evaluate.measures import MAIN

LEVEL = 0.05
SMALL = 0.01  # nDCG@10; a difference inside this is not worth a step
SAME = 0.002  # nDCG@10; of arms this near to each other the quickest is named
MUCH_HARM = 0.05  # share of harmed questions that is said beside a gain


def verdict(evaluation: Evaluation) -> str:
    """One short paragraph.

    An arm pays when its interval lies above 0 and its p, adjusted for the number of arms looked at
    (Holm), is under .05. Of those that pay the one with the highest mean is named, and the fastest
    that reaches nearly as much.
    """
    others = evaluation.others
    if not others:
        return f"Only raw was run: {MAIN} {evaluation.raw.mean():.3f} over {_questions(evaluation)}."
    adjusted = holm({arm.name: arm.comparison.p for arm in others})
    pays = paying(evaluation)
    if pays:
        return _switch_on(evaluation, pays)
    harms = [arm for arm in others if arm.comparison.high < 0 and adjusted[arm.name] < LEVEL]
    open_ones = [arm for arm in others if arm not in harms and arm.comparison.high > SMALL]
    if open_ones:
        return _cannot_tell(evaluation, max(open_ones, key=lambda arm: arm.comparison.delta), harms)
    return _none_pays(evaluation, harms)


def paying(evaluation: Evaluation) -> list[ArmResult]:
    """The arms that pay; see `verdict`."""
    adjusted = holm({arm.name: arm.comparison.p for arm in evaluation.others})
    return [arm for arm in evaluation.others if arm.comparison.low > 0 and adjusted[arm.name] < LEVEL]


def leading(evaluation: Evaluation) -> ArmResult | None:
    """The arm to look at first: of those that pay, else of all, the best, and of equals the quickest."""
    arms = paying(evaluation) or evaluation.others
    most = max((arm.comparison.delta for arm in arms), default=0.0)
    equals = [arm for arm in arms if arm.comparison.delta >= most - SAME]
    return min(equals, key=lambda arm: arm.milliseconds(50), default=None)


def _switch_on(evaluation: Evaluation, pays: list[ArmResult]) -> str:
    best = leading(evaluation) or pays[0]
    said = (
        f"Switch on {best.name}: {MAIN} {evaluation.raw.mean():.3f} -> {best.mean():.3f} "
        f"({_difference(best)}) over {_questions(evaluation)}; {_score(best)}, "
        f"{_ms(best)} at p50."
    )
    if best.comparison.harm >= MUCH_HARM:
        said += f" It harms {best.comparison.harm:.0%} of the questions by more than .1: read its worst losses first."
    quick = [arm for arm in pays if arm.comparison.delta >= best.comparison.delta - SMALL]
    fastest = min(quick, key=lambda arm: arm.milliseconds(50))
    if fastest is not best and fastest.milliseconds(50) < best.milliseconds(50) / 2:
        said += f" {fastest.name} reaches nearly as much ({fastest.mean():.3f}) in {_ms(fastest)}."
    return said


def _cannot_tell(evaluation: Evaluation, best: ArmResult, harms: list[ArmResult]) -> str:
    said = (
        f"Cannot tell with {_questions(evaluation)}: the best arm, {best.name}, differs from raw by "
        f"{_difference(best)}, which may be chance."
    )
    needed = best.comparison.needed()
    if best.comparison.delta > 0 and needed is not None and needed > len(evaluation.ids):
        said += f" About {needed:,} questions like these would show a difference of this size."
    elif best.comparison.delta <= 0:
        said += " Nothing here speaks for switching one on."
    return said + _harmful(harms)


def _none_pays(evaluation: Evaluation, harms: list[ArmResult]) -> str:
    best = max(evaluation.others, key=lambda arm: arm.comparison.delta)
    return (
        f"None pays here: over {_questions(evaluation)} no arm gains more than {SMALL} {MAIN} on raw's "
        f"{evaluation.raw.mean():.3f}; the best, {best.name}, differs by {_difference(best)}. Leave rewriting off."
    ) + _harmful(harms)


def _harmful(harms: list[ArmResult]) -> str:
    if not harms:
        return ""
    return " Worse than raw: " + "; ".join(f"{arm.name} ({_difference(arm)})" for arm in harms) + "."


def _difference(arm: ArmResult) -> str:
    against = arm.comparison
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
