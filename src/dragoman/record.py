"""The record of a question as plain data for programs, and as a tree for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dragoman.types import Answer, Hit, Result, Rewriting, Search, Step

TEXT = 200  # characters of a passage shown in the tree


def rewriting_data(rewriting: Rewriting, searches: tuple[Search, ...] | None = None) -> dict[str, Any]:
    """`question`, `query`, `off_topic`, `searches` and `steps`; JSON can carry all of it."""
    return {
        "question": rewriting.question.text,
        "query": rewriting.query,
        "off_topic": rewriting.off_topic,
        "searches": [search_data(search) for search in (rewriting.searches if searches is None else searches)],
        "steps": [step_data(step) for step in rewriting.steps],
    }


def search_data(search: Search) -> dict[str, Any]:
    """`text`, `origin`, `weight`; `terms` and `on` where the search has them."""
    data: dict[str, Any] = {"text": search.text, "origin": search.origin, "weight": round(search.weight, 6)}
    if search.terms:
        data["terms"] = [[term, round(weight, 6)] for term, weight in search.terms]
    if search.meaning:
        data["meaning"] = search.meaning
    if search.on:
        data["on"] = list(search.on)
    return data


def step_data(step: Step) -> dict[str, Any]:
    """`name`, `outcome`, `seconds`, `reason`, before and after, rules that bit, tokens."""
    return {
        "name": step.name,
        "outcome": step.outcome.value,
        "seconds": round(step.seconds, 6),
        "reason": step.reason,
        "before": step.before,
        "after": list(step.after),
        "rules": [{"rule": hit.rule, "found": hit.found, "put": hit.put, "source": hit.source} for hit in step.rules],
        "tokens_in": step.usage.tokens_in,
        "tokens_out": step.usage.tokens_out,
    }


def hit_data(hit: Hit, rank: int) -> dict[str, Any]:
    """`rank`, `doc_id`, `score`, `title`, `text`, `metadata` and `because`, the largest share first."""
    return {
        "rank": rank,
        "doc_id": hit.doc_id,
        "score": round(hit.score, 6),
        "title": hit.title,
        "text": hit.text,
        "metadata": dict(hit.metadata),
        "because": [
            {
                "search": because.search,
                "retriever": because.retriever,
                "rank": because.rank,
                "share": round(because.share, 6),
                "origin": because.origin,
            }
            for because in sorted(hit.because, key=lambda because: -because.share)
        ],
    }


def result_data(result: Result) -> dict[str, Any]:
    """The rewriting's data with every search run, `hits`, `failures` and `seconds`."""
    return {
        **rewriting_data(result.rewriting, result.searches),
        "hits": [hit_data(hit, rank) for rank, hit in enumerate(result.hits, start=1)],
        "failures": [
            {"retriever": f.retriever, "search": f.search, "outcome": f.outcome.value, "reason": f.reason}
            for f in result.failures
        ],
        "seconds": round(result.seconds, 6),
    }


def answer_data(answer: Answer) -> dict[str, Any]:
    """The result's data with the answer's text, citations and how it came about."""
    return {
        **result_data(answer.result),
        "answer": answer.text,
        "citations": list(answer.citations),
        "found": answer.found,
        "quoted": answer.quoted,
        "removed_citations": answer.removed,
        "answer_reason": answer.reason,
    }


def tree(result: Result) -> str:
    """The whole journey: steps, searches, rankings, and why each hit stands where it stands."""
    return "\n".join(_branches(result))


def _branches(result: Result) -> Iterator[str]:
    yield result.question.text
    yield from _step_branches(result.rewriting)
    yield "├─ searches"
    for search in result.searches:
        on = f" on {', '.join(search.on)}" if search.on else ""
        yield f"│  ├─ {search.text}  ({search.origin}, weight {search.weight:.3g}{on})"
        if search.terms:
            yield "│  │    " + "  ".join(f"{term}^{weight:.2g}" for term, weight in search.terms)
    yield "├─ rankings"
    for ranking in result.rankings:
        best = ranking.hits[0].doc_id if ranking.hits else "nothing"
        found = f"{len(ranking)} hits, {_ms(ranking.seconds)}, best {best}"
        yield f"│  ├─ {ranking.retriever}: {ranking.search.text}  ({found})"
    for failure in result.failures:
        yield f"│  ├─ {failure.retriever}: {failure.search}  ({failure.outcome}: {failure.reason})"
    yield f"└─ hits ({_ms(result.seconds)} in all)"
    for rank, hit in enumerate(result.hits, start=1):
        yield f"   {rank}. {hit.doc_id}  {hit.score:.3f}  {hit.title or hit.text[:80]}"
        for because in sorted(hit.because, key=lambda because: -because.share):
            yield f"      {because.share:6.3f}  rank {because.rank} on {because.retriever} for: {because.search}"


def _step_branches(rewriting: Rewriting) -> Iterator[str]:
    yield "├─ steps"
    for step in rewriting.steps:
        reason = f": {step.reason}" if step.reason else ""
        yield f"│  ├─ {step.name}  {step.outcome}  {_ms(step.seconds)}{reason}"
        for after in step.after:
            yield f"│  │    -> {after}"
        for hit in step.rules:
            put = f" -> {hit.put}" if hit.put else ""
            source = f"  [{hit.source}]" if hit.source else ""
            yield f"│  │    {hit.rule}: {hit.found}{put}{source}"


def rewriting_tree(rewriting: Rewriting) -> str:
    """The steps alone, for a question that was not searched."""
    return "\n".join([rewriting.question.text, *_step_branches(rewriting), f"└─ query: {rewriting.query}"])


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"
