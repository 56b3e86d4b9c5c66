"""A Haystack pipeline: Dragoman rewrites, Haystack's own retriever searches; and the other way about."""

from haystack import Document, Pipeline
from haystack.components.generators.chat import MockChatGenerator
from haystack.components.retrievers import InMemoryBM25Retriever, MultiQueryTextRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from road_law import PASSAGES, QUESTION, REPLY

from dragoman import Dragoman
from dragoman.integrations.haystack import DragomanRetriever, DragomanRewriter, from_chat_generator, from_haystack
from dragoman.llm.open import open_llm
from dragoman.rewriters.prompted import Prompted

store = InMemoryDocumentStore()
store.write_documents([Document(id=i, content=f"{t}. {x}", meta={"title": t}) for i, t, x in PASSAGES])
generator = MockChatGenerator(REPLY)  # in your case, any chat generator
rephrase = Prompted("rephrase", open_llm(from_chat_generator(generator)))

pipeline = Pipeline()
pipeline.add_component("rewrite", DragomanRewriter(Dragoman([], [rephrase])))
pipeline.add_component("search", MultiQueryTextRetriever(retriever=InMemoryBM25Retriever(store, top_k=1)))
pipeline.connect("rewrite.queries", "search.queries")
print([d.id for d in pipeline.run({"rewrite": {"query": QUESTION}})["search"]["documents"]])

theirs = from_haystack(InMemoryBM25Retriever(store), "bm25")
for document in DragomanRetriever(Dragoman([theirs], [rephrase]), top_k=2).run(QUESTION)["documents"]:
    print(document.id, [each["search"] for each in document.meta["because"]])
