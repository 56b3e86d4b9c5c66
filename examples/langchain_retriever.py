"""Dragoman as a LangChain retriever inside a chain, its callbacks heard."""

import tempfile

from langchain_core.language_models import FakeListChatModel
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough
from road_law import QUESTION, build, rephrase

from dragoman import Dragoman
from dragoman.integrations.langchain import DragomanRetriever
from dragoman.retrievers import open_index

with tempfile.TemporaryDirectory() as folder, open_index(build(folder)) as index:
    retriever = DragomanRetriever(dragoman=Dragoman(index.retrievers, [rephrase()]), depth=2)
    for document in retriever.invoke(QUESTION):
        print(document.id, round(document.metadata["score"], 2), document.metadata["because"][0]["retriever"])

    prompt = ChatPromptTemplate.from_template("Answer from {passages}: {question}")
    model = FakeListChatModel(responses=["25 miles per hour"])  # in your case, any chat model
    chain = {"passages": retriever, "question": RunnablePassthrough()} | prompt | model
    print(chain.invoke(QUESTION).content)
