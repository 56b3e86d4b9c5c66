"""Files and folders into documents: JSONL, Markdown, text, HTML, PDF."""

from dragoman.retrievers.documents.document import Document
from dragoman.retrievers.documents.reading import KINDS, Source, count_documents, find_files, read_documents

__all__ = ["KINDS", "Document", "Source", "count_documents", "find_files", "read_documents"]
