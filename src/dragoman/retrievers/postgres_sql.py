"""The longer statements of the PostgreSQL adapter, and how names are quoted."""

from __future__ import annotations

from dragoman.retrievers.engine import Fields

# The share of rows that hold each word: its rarest lexeme's, half the least known where it is none of the
# common ones. The array of shares ends with the least and the greatest of them.
SHARES = """
    WITH stats AS (
        SELECT most_common_elems::text::text[] AS elems, most_common_elem_freqs AS freqs
        FROM pg_stats WHERE tablename = %s AND attname = %s AND schemaname = ANY (current_schemas(false))
    ), known AS (
        SELECT e.lexeme, e.share FROM stats, unnest(elems, freqs[1:cardinality(elems)]) AS e (lexeme, share)
    )
    SELECT asked.word, (
        SELECT min(coalesce(known.share, (SELECT freqs[cardinality(elems) + 1] / 2 FROM stats)))
        FROM unnest(tsvector_to_array(to_tsvector(%s::regconfig, asked.word))) AS l (lexeme)
        LEFT JOIN known USING (lexeme)
    ) FROM unnest(%s::text[]) AS asked (word)
"""


def layout(table: str, fields: Fields, config: str, dimensions: int) -> str:
    """The statement that makes a table of passages.

    Args:
        config: the text search configuration; the title's words get weight A.
        dimensions: of the vectors; 0 for no such column.
    """
    f = fields
    title, text = (f"to_tsvector('{config}', coalesce({quoted(column)}, ''))" for column in (f.title, f.text))
    vector = f", {quoted(f.vector)} vector({dimensions})" if dimensions else ""
    return (
        f"CREATE TABLE {quoted(table)} ({quoted(f.id)} text PRIMARY KEY, {quoted(f.title)} text, "
        f"{quoted(f.text)} text, {quoted(f.metadata)} jsonb NOT NULL{vector}, {quoted(f.words)} tsvector "
        f"GENERATED ALWAYS AS (setweight({title}, 'A') || {text}) STORED)"
    )


def quoted(identifier: str) -> str:
    """An SQL name, quoted; "schema.table" is two."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in identifier.split("."))


def bare(table: str) -> str:
    """A table's name without its schema."""
    return table.rpartition(".")[2]
