"""A small corpus on which a retriever's contract can be checked word for word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Passage(NamedTuple):
    """One passage of the sample: index all of them, with title, text and metadata."""

    doc_id: str
    title: str
    text: str
    metadata: Mapping[str, str]


def _passage(doc_id: str, state: str, title: str, text: str) -> Passage:
    return Passage(doc_id, title, text, {"state": state, "kind": "statute"})


# The words "maximum speed limit" stand in nine of the twelve. B-1 to B-4 are alike but for their
# ids, so that their scores tie; ids differ in case, length and script, and look like numbers.
SAMPLE: tuple[Passage, ...] = (
    _passage("A-1", "North", "Maximum speed limit", "The maximum speed limit in a residence district is stated here."),
    _passage("A-2", "North", "School zones", "The maximum speed limit beside a school while children arrive or leave."),
    _passage(
        "10", "South", "Speed on bridges", "No vehicle shall cross a bridge above the maximum speed limit posted."
    ),
    _passage("9", "South", "Towing", "The maximum speed limit for a vehicle drawing a trailer on a highway."),
    _passage(
        "é-7", "South", "Weather", "In fog or on ice the maximum speed limit gives way to a lower, prudent speed."
    ),
    _passage("B-1", "North", "Copies", "A copy of the rule on the maximum speed limit."),
    _passage("B-2", "South", "Copies", "A copy of the rule on the maximum speed limit."),
    _passage("B-3", "North", "Copies", "A copy of the rule on the maximum speed limit."),
    _passage("B-4", "South", "Copies", "A copy of the rule on the maximum speed limit."),
    _passage("c/1", "North", "Headlamps", "Lighted headlamps are required from sunset to sunrise."),
    _passage("c/2", "South", "Child restraints", "A child under eight is secured in a restraint device."),
    _passage("c/3", "North", "Licences", "A person carries the driver's licence while operating a motor vehicle."),
)
