"""Dragoman as a LlamaIndex retriever under a query engine, and as a query transform."""

import tempfile

from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from road_law import QUESTION, build, rephrase

from dragoman import Dragoman
from dragoman.integrations.llamaindex import DragomanQueryTransform, DragomanRetriever
from dragoman.retrievers import open_index

with tempfile.TemporaryDirectory() as folder, open_index(build(folder)) as index:
    retriever = DragomanRetriever(Dragoman(index.retrievers, [rephrase()]), depth=2)
    for found in retriever.retrieve(QUESTION):
        print(found.node.node_id, round(found.score or 0, 2), len(found.node.metadata["because"]), "reasons")
    made = get_response_synthesizer(llm=MockLLM(max_tokens=3))  # in your case, any model
    print(RetrieverQueryEngine(retriever, response_synthesizer=made).query(QUESTION))

print(DragomanQueryTransform(Dragoman([], [rephrase()])).run(QUESTION).embedding_strs)
