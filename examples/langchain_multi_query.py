"""A drop-in for LangChain's MultiQueryRetriever: the import is the one line that changes.

from langchain_classic.retrievers.multi_query import MultiQueryRetriever      # before
from dragoman.integrations.langchain import MultiQueryRetriever               # after
"""

import re

from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.retrievers import BaseRetriever
from road_law import PASSAGES, QUESTION, REPLY

from dragoman.integrations.langchain import MultiQueryRetriever


class Words(BaseRetriever):
    """In your case, `vector_store.as_retriever()` or whatever you have."""

    def _get_relevant_documents(self, query: str) -> list[Document]:
        asked = set(re.findall(r"\w+", query.lower()))
        scored = [(len(asked & set(re.findall(r"\w+", f"{t} {x}".lower()))), i, t, x) for i, t, x in PASSAGES]
        found = sorted((each for each in scored if each[0]), reverse=True)
        return [Document(text, id=doc_id, metadata={"title": title}) for _, doc_id, title, text in found]


llm = FakeListChatModel(responses=[REPLY])  # in your case, any chat model
retriever = MultiQueryRetriever.from_llm(retriever=Words(), llm=llm)
for document in retriever.invoke(QUESTION)[:2]:
    print(document.id, document.metadata["title"], [each["search"] for each in document.metadata["because"]])
