"""A ranking is the same whether its hits came in order or not."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from dragoman.types import Hit, Ranking, Search

SCORES = st.one_of(st.sampled_from([0.0, -1.0, 1.0, 2.0, math.nan, math.inf]), st.floats())
HITS = st.lists(st.builds(Hit, st.sampled_from("abcdef"), SCORES), max_size=8)


@given(HITS)
def test_hits_in_order_are_taken_as_they_are_and_others_are_put_in_order(hits: list[Hit]) -> None:
    first = Ranking(Search("x"), "words", tuple(hits))
    again = Ranking(Search("x"), "words", first.hits)
    assert again.hits == first.hits
    assert again.dropped == 0
    keys = [(hit.score, hit.doc_id) for hit in first.hits]
    assert keys == sorted(keys, reverse=True)
    assert all(0 < hit.score < math.inf for hit in first.hits)
    assert len(set(first.doc_ids)) == len(first.doc_ids)
    assert first.dropped == len(hits) - len(first.hits)
    assert {hit.doc_id for hit in hits if 0 < hit.score < math.inf} == set(first.doc_ids)
