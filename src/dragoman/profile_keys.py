"""Every key of a profile: what it holds, what it means, what stands when it is left out.

The reference page is checked against this table, and a profile may hold nothing that is not in it.
"""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.rewriters.masking import KINDS as MASKED
from dragoman.search import ByLength
from dragoman.tomlfile import REQUIRED, Key, Section

# A name of a step, or a table {use = "name", ...}, or a list of these that run side by side.
STEPS = ("rules", "carry", "spelling", "gate", "lexicon", "feedback", "guards")

_MEANING = ByLength()
BY_LENGTH = Section(
    "in place of a retriever's factor: one that grows with the telling words of each search",
    {
        "per_word": Key("number", "the factor for each telling word", _MEANING.per_word, least=0.0),
        "least": Key("number", "the lowest factor, however short the search", _MEANING.least, least=0.0),
        "most": Key("number", "the highest factor, however long", _MEANING.most, least=0.0),
        "written": Key("flag", "only searches that a step wrote count here, not the asker's own words", False),
        "textual": Key("number", "factor for a search that is looked up by its text, not by a vector", 1.0, least=0.0),
    },
)

KEYS: Mapping[str, Key | Section] = {
    "name": Key("text", "what the profile is called; the file's name when left out"),
    "about": Key("text", "the profile in a sentence", ""),
    "asker": Key("text", "who asks, as a prompt says it: `a learner driver`", "a person"),
    "corpus": Key("text", "what is searched, as a prompt says it: `a vehicle code`", "a collection of documents"),
    "register": Key("texts", "rules of the corpus's language, one sentence each, put into prompts", []),
    "lexicon": Key("texts", "lexicon files, relative to the profile; the first goes before the others", []),
    "steps": Key(
        "list",
        'the rewriters in order: a name, a table `{use = "name", ...}` with options, or a list of these that run '
        "side by side",
        list(STEPS),
    ),
    "language": Section(
        "languages, as ISO 639-1 codes; `any` is not checked",
        {
            "question": Key("text", "what people ask in", "en"),
            "corpus": Key("text", "what the documents are in", "en"),
            "searches": Key(
                "text", "which of the two a search may be in", "corpus", choices=("corpus", "question", "both")
            ),
        },
    ),
    "limits": Section(
        "limits of what a model is given and gives",
        {
            "searches": Key("integer", "the most searches of one rephrasing", 2, least=1),
            "words": Key("integer", "the most words of a search; asked of the model", 8, least=1),
            "characters": Key("integer", "the most characters of a search; held in code", 80, least=1),
            "max_tokens": Key("integer", "the most tokens of a model's reply", 1024, least=16),
            "question": Key("integer", "the most characters of a question that a model is given", 4000, least=1),
            "history": Key("integer", "the most characters of earlier turns that a model is given", 4000, least=0),
            "figures": Key(
                "text",
                "`asked`: a number that the asker did not give is taken out of a search; `any`: it stays",
                "asked",
                choices=("asked", "any"),
            ),
        },
    ),
    "guards": Section(
        "the profile's own rules, applied in order to every search until nothing changes",
        {
            "id": Key("text", "its name in records and counters", REQUIRED),
            "pattern": Key("text", "a regular expression, whatever the case of letters", REQUIRED),
            "replacement": Key("text", r"what stands instead, with `\1` for the pattern's groups", REQUIRED),
            "reason": Key("text", "why, for whoever reads a record", REQUIRED),
            "examples": Key("pairs", "pairs of a search and what the rules make of it, run as tests", []),
        },
        many=True,
    ),
    "models": Section(
        "models by name: `anthropic:MODEL`, `openai:MODEL`, `openai:MODEL@URL`, `replay:FILE`",
        {
            "rewrite": Key("text", "the one that rewrites; prompted steps are left out without one"),
            "answer": Key("text", "the one that answers from the hits; passages are quoted without one"),
        },
    ),
    "leash": Section(
        "time, in seconds",
        {
            "seconds": Key("number", "for one model call of a rewriting step, in all", 4.0, least=0.01),
            "hedge_after": Key("number", "of silence after which the model is asked once more", least=0.0),
            "budget": Key("number", "from the asking to the fused list, in all", 10.0, least=0.01),
        },
    ),
    "weights": Section(
        "how much each search counts in the fusion",
        {
            "question": Key("number", "the question as asked, while nothing else was made of it", 1.0, least=0.001),
            "asked": Key("number", "the question as asked, beside a rewritten or expanded one", 0.2, least=0.0),
            "query": Key("number", "the rewritten or expanded question", 0.8, least=0.001),
            "origins": Key("numbers", "step that wrote a search -> factor on that search's weight", {}, least=0.0),
            "retrievers": Key(
                "numbers", "retriever -> factor on its rankings, or one by length", {}, least=0.0, inner=BY_LENGTH
            ),
            "reserve": Key("integer", "place below which the question's best hit is not pushed; 0: none", 10, least=0),
        },
    ),
    "memory": Section(
        "accepted rewrites of past questions; off unless a path is named, for it holds questions",
        {"path": Key("text", "the store's file, relative to the profile")},
    ),
    "cache": Section(
        "replies kept on disk; off unless a path is named, for it holds questions",
        {"path": Key("text", "the cache's file, relative to the profile")},
    ),
    "masking": Section(
        "people's data taken out of a text before a model or the memory sees it",
        {"kinds": Key("texts", "what is masked", [], choices=MASKED)},
    ),
    "examples": Section(
        "questions and what is to become of them, run by `dragoman check`",
        {
            "question": Key("text", "what is asked", REQUIRED),
            "history": Key("pairs", "turns before it, as pairs of `user` or `assistant` and a text; `[]`: none yet"),
            "reply": Key("table", "what a model replies; without it prompted steps are left out"),
            "show": Key("flag", "the reply is shown to the model as an example", False),
            "query": Key("text", "the question as later steps then read it"),
            "searches": Key("texts", "the searches that are then added, in order"),
            "off_topic": Key("flag", "whether it is held to be off-topic"),
            "outcome": Key("text", "what the last prompted step comes to, as `rejected`"),
        },
        many=True,
    ),
}
