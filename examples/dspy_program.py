"""Dragoman as the search of a DSPy program."""

import tempfile

import dspy
from road_law import QUESTION, build, rephrase

from dragoman import Dragoman
from dragoman.integrations.dspy import DragomanModule
from dragoman.retrievers import open_index


class Answer(dspy.Module):
    """Searches, then answers from what was found."""

    def __init__(self, dragoman: Dragoman) -> None:
        super().__init__()
        self.search = DragomanModule(dragoman, k=2)
        self.answer = dspy.Predict("passages: list[str], question -> answer")

    def forward(self, question: str) -> dspy.Prediction:
        """The answer, and the ids of what it stands on."""
        found = self.search(query=question)
        answer = self.answer(passages=found.passages, question=question).answer
        return dspy.Prediction(answer=answer, doc_ids=found.doc_ids)


with tempfile.TemporaryDirectory() as folder, open_index(build(folder)) as index:
    program = Answer(Dragoman(index.retrievers, [rephrase()]))
    program.set_lm(dspy.utils.DummyLM([{"answer": "25 miles per hour"}]))  # in your case, dspy.LM("...")
    print(program(question=QUESTION))
