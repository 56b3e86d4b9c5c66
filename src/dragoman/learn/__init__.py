"""From what was asked and what answered it to a lexicon a person can read, weigh and approve."""

from dragoman.learn.choose import Kept
from dragoman.learn.file import Block, Review, Status, merged, read_review, write_review
from dragoman.learn.learning import Learned, learn
from dragoman.learn.pairs import Pair, judged_pairs, read_pairs
from dragoman.learn.propose import Missing, Proposal, missing_terms, nearest_phrases, propose

__all__ = [
    "Block",
    "Kept",
    "Learned",
    "Missing",
    "Pair",
    "Proposal",
    "Review",
    "Status",
    "judged_pairs",
    "learn",
    "merged",
    "missing_terms",
    "nearest_phrases",
    "propose",
    "read_pairs",
    "read_review",
    "write_review",
]
