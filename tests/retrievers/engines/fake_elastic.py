"""A small Elasticsearch, or OpenSearch, that speaks the published API for what the adapter sends, and no more.

Whatever else it is sent, a key it does not know, a field that is not mapped, a wrong type, it refuses with
400, as the real ones do. It ranks by BM25 over stems. What it cannot tell is whether the real engines take
all that it takes: the tests marked `real_engine` ask them.
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from dragoman.text import stems

Json = dict[str, Any]
K1, B = 1.2, 0.75
SEARCH_OPTIONS = {"search_type": "dfs_query_then_fetch", "allow_partial_search_results": "false"}


class Refused(Exception):
    def __init__(self, status: int, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.status, self.kind, self.reason = status, kind, reason


def expect(condition: object, reason: str, kind: str = "parsing_exception") -> None:
    if not condition:
        raise Refused(400, kind, reason)


def keys(given: object, required: set[str], optional: set[str] | None = None) -> Json:
    """The object, if it has these keys and no others."""
    if not isinstance(given, dict):
        raise Refused(400, "parsing_exception", f"expected an object, found {given!r}")
    unknown, missing = set(given) - required - (optional or set()), required - set(given)
    expect(not unknown, f"unknown key {sorted(unknown)}")
    expect(not missing, f"missing key {sorted(missing)}")
    return given


class Index:
    def __init__(self, mappings: Json, settings: Json) -> None:
        self.properties: Json = mappings["properties"]
        self.settings = settings
        self.waiting: dict[str, Json] = {}
        self.documents: dict[str, Json] = {}
        self.closed = False

    def field(self, name: str, *types: str) -> Json:
        mapped = self.properties.get(name)
        if mapped is None or mapped["type"] not in types:
            raise Refused(400, "query_shard_exception", f"no field [{name}] of type {types} is mapped")
        found: Json = mapped
        return found


class Fake:
    """The state of a server of one kind."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.indices: dict[str, Index] = {}
        self.synonyms: dict[str, dict[str, str]] = {}
        self.failing: tuple[int, Json] | None = None
        self.asked: list[tuple[str, str, Any]] = []
        self.headers: list[dict[str, str]] = []

    def index(self, name: str) -> Index:
        if name not in self.indices:
            raise Refused(404, "index_not_found_exception", f"no such index [{name}]")
        return self.indices[name]

    # What is asked of an index -------------------------------------------------------------------------------------

    def create(self, name: str, options: Json, body: Any) -> Json:
        expect(not options, f"unrecognized parameter {options}")
        expect(name not in self.indices, f"index [{name}] already exists", "resource_already_exists_exception")
        keys(body, {"mappings"}, {"settings"})
        mappings = keys(body["mappings"], {"properties", "dynamic"})
        settings = keys(body.get("settings", {}), set(), {"analysis", "index.knn"})
        for field, mapped in mappings["properties"].items():
            self._mapping(field, mapped, settings)
        if "analysis" in settings:
            self._analysis(settings["analysis"])
        self.indices[name] = Index(mappings, settings)
        return {"acknowledged": True, "shards_acknowledged": True, "index": name}

    def _mapping(self, field: str, mapped: Json, settings: Json) -> None:
        elastic = self.kind == "elasticsearch"
        allowed: dict[str, tuple[set[str], set[str]]] = {
            "keyword": (set(), set()),
            "text": ({"analyzer"}, {"search_analyzer"}),
        }
        if elastic:
            allowed |= {"flattened": (set(), set()), "dense_vector": ({"dims", "index", "similarity"}, set())}
        else:
            allowed |= {"flat_object": (set(), set()), "knn_vector": ({"dimension", "method"}, set())}
        kind = mapped.get("type")
        expect(kind in allowed, f"No handler for type [{kind}] on field [{field}]", "mapper_parsing_exception")
        required, optional = allowed[str(kind)]
        keys(mapped, {"type"} | required, optional)
        if kind == "text" and "search_analyzer" in mapped:
            known = settings.get("analysis", {}).get("analyzer", {})
            expect(
                mapped["search_analyzer"] in known, f"analyzer [{mapped['search_analyzer']}] has not been configured"
            )
        if kind == "dense_vector":
            expect(mapped["similarity"] == "cosine" and mapped["index"] is True, "only indexed cosines here")
        if kind == "knn_vector":
            expect(settings.get("index.knn") is True, "index.knn must be true to search vectors")
            expect(
                mapped["method"] == {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil"},
                f"Invalid method {mapped['method']}",
            )

    def _analysis(self, analysis: Json) -> None:
        keys(analysis, {"filter", "analyzer"})
        built_in = {"lowercase", "german_normalization"}
        for name, made in analysis["filter"].items():
            kind = made.get("type")
            shapes = {"stemmer": {"language"}, "stop": {"stopwords"}, "elision": {"articles", "articles_case"}}
            if kind == "synonym_graph":
                self._synonym_filter(made)
            else:
                expect(kind in shapes, f"Unknown filter type [{kind}] for [{name}]", "illegal_argument_exception")
                keys(made, {"type"} | shapes[str(kind)])
        for made in analysis["analyzer"].values():
            keys(made, {"type", "tokenizer", "filter"})
            expect(made["type"] == "custom" and made["tokenizer"] == "standard", f"unknown analyzer {made}")
            unknown = set(made["filter"]) - built_in - set(analysis["filter"])
            expect(not unknown, f"failed to find filter {sorted(unknown)}", "illegal_argument_exception")

    def _synonym_filter(self, made: Json) -> None:
        if self.kind == "elasticsearch":
            keys(made, {"type", "synonyms_set", "updateable"})
            expect(made["synonyms_set"] in self.synonyms, f"synonyms set [{made['synonyms_set']}] not found")
        else:
            keys(made, {"type", "synonyms"})
            expect(made["synonyms"], "synonym requires either `synonyms` or `synonyms_path` to be configured")
            for rule in made["synonyms"]:
                valid_rule(rule)

    def delete(self, name: str, options: Json, body: Any) -> Json:
        expect(options.keys() <= {"ignore_unavailable"}, f"unrecognized parameter {options}")
        if options.get("ignore_unavailable") != "true":
            self.index(name)
        self.indices.pop(name, None)
        return {"acknowledged": True}

    def refresh(self, name: str, options: Json, body: Any) -> Json:
        expect(not options and not body, "refresh takes nothing")
        index = self.index(name)
        index.documents |= index.waiting
        index.waiting = {}
        return {"_shards": {"total": 1, "successful": 1, "failed": 0}}

    def bulk(self, name: str, options: Json, lines: Any) -> Json:
        expect(not options, f"unrecognized parameter {options}")
        index, items = self.index(name), []
        expect(isinstance(lines, list) and len(lines) % 2 == 0, "an action and a source, turn by turn")
        for action, source in zip(lines[::2], lines[1::2], strict=True):
            doc_id = keys(keys(action, {"index"})["index"], {"_id"})["_id"]
            error = self._wrong(index, source)
            if error is None:
                index.waiting[doc_id] = source
            items.append(
                {
                    "index": {
                        "_id": doc_id,
                        "status": 201 if error is None else 400,
                        **({"error": error} if error else {}),
                    }
                }
            )
        return {"took": 1, "errors": any("error" in row["index"] for row in items), "items": items}

    def _wrong(self, index: Index, source: Json) -> Json | None:
        for field, value in source.items():
            mapped = index.properties.get(field, {"type": "none"})
            kind = mapped["type"]
            if kind in ("keyword", "text") and not isinstance(value, str):
                return {"type": "document_parsing_exception", "reason": f"[{field}] is no text"}
            if kind in ("dense_vector", "knn_vector") and (
                len(value) != mapped.get("dims", mapped.get("dimension")) or not any(value)
            ):
                return {"type": "document_parsing_exception", "reason": f"[{field}] has another length, or is zero"}
            if kind == "none":
                return {"type": "strict_dynamic_mapping_exception", "reason": f"[{field}] is not mapped"}
        return None

    def settings(self, name: str, options: Json, body: Any) -> Json:
        expect(not options, f"unrecognized parameter {options}")
        index = self.index(name)
        return {name: {"settings": {"index": {"analysis": index.settings.get("analysis", {}), "uuid": "x"}}}}

    def put_settings(self, name: str, options: Json, body: Any) -> Json:
        index = self.index(name)
        changed = keys(keys(keys(body, {"index"})["index"], {"analysis"})["analysis"], {"filter"})["filter"]
        expect(index.closed, "Can't update non dynamic settings for open indices", "illegal_argument_exception")
        for made in changed.values():
            self._synonym_filter(made)
        index.settings["analysis"]["filter"] |= changed
        return {"acknowledged": True}

    def close(self, name: str, options: Json, body: Any) -> Json:
        self.index(name).closed = True
        return {"acknowledged": True}

    def open(self, name: str, options: Json, body: Any) -> Json:
        self.index(name).closed = False
        return {"acknowledged": True}

    # Searching -----------------------------------------------------------------------------------------------------

    def search(self, name: str, options: Json, body: Any) -> Json:
        index = self.index(name)
        expect(options.keys() <= {*SEARCH_OPTIONS, "preference"}, f"unrecognized parameter {options}")
        for option, value in SEARCH_OPTIONS.items():
            expect(options.get(option, value) == value, f"{option}={options.get(option)}")
        if index.closed:
            raise Refused(400, "index_closed_exception", "closed")
        keys(body, {"query", "size", "sort", "track_total_hits", "_source"}, {"search_after"})
        expect(type(body["size"]) is int and 0 <= body["size"] <= 10_000, "size", "illegal_argument_exception")
        scores = self._scores(index, body["query"])
        rows = self._sorted(index, scores, body["sort"])
        if "search_after" in body:
            rows = [row for row in rows if row["sort"] > body["search_after"]]
        hits = []
        for row in rows[: body["size"]]:
            source = {f: v for f, v in index.documents[row["_id"]].items() if f in body["_source"]}
            hits.append({"_index": name, **row, "_source": source})
        shards = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
        return {"took": 1, "timed_out": False, "_shards": shards, "hits": {"max_score": None, "hits": hits}}

    def _sorted(self, index: Index, scores: dict[str, float], sort: Any) -> list[Json]:
        expect(isinstance(sort, list), "sort is a list")
        (field, order), *first = [next(iter(part.items())) for part in reversed(sort)]
        index.field(field, "keyword")
        rows: list[Json] = [{"_id": i, "_score": s, "sort": [index.documents[i][field]]} for i, s in scores.items()]
        rows.sort(key=lambda row: row["sort"][0].encode(), reverse=order == "desc")
        if not first:
            return [{**row, "_score": None} for row in rows]
        expect(first == [("_score", "desc")], f"sort {sort}")
        rows.sort(key=lambda row: row["_score"], reverse=True)
        return [{**row, "sort": [row["_score"], *row["sort"]]} for row in rows]

    def _scores(self, index: Index, query: Json) -> dict[str, float]:
        (kind, asked), *more = keys(query, set(), {"bool", "multi_match", "term", "knn", "match_all"}).items()
        expect(not more, f"[{kind}] malformed query, expected one")
        parse: dict[str, Callable[[Index, Json], dict[str, float]]] = {
            "bool": self._bool,
            "multi_match": self._multi_match,
            "term": self._term,
            "knn": self._knn_elastic if self.kind == "elasticsearch" else self._knn_open,
            "match_all": lambda index, _: dict.fromkeys(index.documents, 1.0),
        }
        return parse[kind](index, asked)

    def _bool(self, index: Index, asked: Json) -> dict[str, float]:
        keys(asked, set(), {"should", "minimum_should_match", "filter"})
        allowed = set(index.documents)
        for part in asked.get("filter", []):
            allowed &= self._scores(index, part).keys()
        if "should" not in asked:
            return dict.fromkeys(allowed, 0.0)
        expect(asked.get("minimum_should_match") == 1, "minimum_should_match")
        expect(len(asked["should"]) <= 1024, "maxClauseCount is set to 1024", "too_many_clauses")
        total: Counter[str] = Counter()
        for part in asked["should"]:
            for doc_id, score in self._scores(index, part).items():
                total[doc_id] += score  # type: ignore[assignment]
        return {doc_id: float(score) for doc_id, score in total.items() if doc_id in allowed}

    def _multi_match(self, index: Index, asked: Json) -> dict[str, float]:
        keys(asked, {"query", "fields", "type"}, {"boost", "operator"})
        expect(asked["type"] == "most_fields", "type")
        expect(asked.get("operator", "or") in ("or", "and"), "operator")
        expect(asked.get("boost", 1.0) >= 0, "negative [boost] values are not allowed", "illegal_argument_exception")
        terms = stems(asked["query"])
        expect(len(terms) <= 1024, "maxClauseCount is set to 1024", "too_many_clauses")
        total: Counter[str] = Counter()
        for given in asked["fields"]:
            field, _, weight = given.partition("^")
            index.field(field, "text")
            for doc_id, score in self._bm25(index, field, terms, every=asked.get("operator") == "and").items():
                total[doc_id] += score * float(weight or 1) * asked.get("boost", 1.0)
        return dict(total)

    def _bm25(self, index: Index, field: str, asked: list[str], *, every: bool) -> dict[str, float]:
        held = {doc_id: Counter(stems(source[field])) for doc_id, source in index.documents.items()}
        average = sum(c.total() for c in held.values()) / max(1, len(held)) or 1.0
        scores: dict[str, float] = {}
        for term in asked:
            having = [doc_id for doc_id, counts in held.items() if counts[term]]
            idf = math.log1p((len(held) - len(having) + 0.5) / (len(having) + 0.5))
            for doc_id in having:
                tf = held[doc_id][term]
                length = K1 * (1 - B + B * held[doc_id].total() / average)
                scores[doc_id] = scores.get(doc_id, 0.0) + idf * tf / (tf + length)
        return {i: s for i, s in scores.items() if not every or all(held[i][term] for term in asked)}

    def _term(self, index: Index, asked: Json) -> dict[str, float]:
        ((path, value),) = asked.items()
        keys(value, {"value"})
        field, _, key = path.partition(".")
        index.field(field, "flattened", "flat_object")
        expect(key, "a flattened field is asked for by a key")
        fitting = (i for i, source in index.documents.items() if source.get(field, {}).get(key) == value["value"])
        return dict.fromkeys(fitting, 0.0)

    def _knn_elastic(self, index: Index, asked: Json) -> dict[str, float]:
        keys(asked, {"field", "query_vector", "k", "num_candidates"}, {"filter"})
        expect(asked["k"] <= asked["num_candidates"] <= 10_000, "[num_candidates] cannot be less than [k]")
        index.field(asked["field"], "dense_vector")
        filters: list[Json] = asked.get("filter", [])
        return self._nearest(index, asked["field"], asked["query_vector"], asked["k"], {"filter": filters})

    def _knn_open(self, index: Index, asked: Json) -> dict[str, float]:
        ((field, given),) = asked.items()
        keys(given, {"vector", "k"}, {"filter"})
        expect(0 < given["k"] <= 10_000, "k must be in the range (0, 10000]", "illegal_argument_exception")
        index.field(field, "knn_vector")
        filters = keys(given.get("filter", {"bool": {}}), {"bool"})["bool"]
        return self._nearest(index, field, given["vector"], given["k"], filters)

    def _nearest(self, index: Index, field: str, asked: list[float], k: int, filters: Json) -> dict[str, float]:
        mapped = index.properties[field]
        expect(len(asked) == mapped.get("dims", mapped.get("dimension")), "the query vector has another dimension")
        scores = {}
        for doc_id in self._bool(index, filters):
            vector = index.documents[doc_id].get(field)
            if vector is not None:
                product = sum(a * b for a, b in zip(asked, vector, strict=True))
                scores[doc_id] = (1 + product / math.hypot(*asked) / math.hypot(*vector)) / 2
        # In insertion order where they tie, as an engine may.
        return dict(sorted(scores.items(), key=lambda item: -item[1])[:k])

    # Synonyms sets -------------------------------------------------------------------------------------------------

    def get_synonyms(self, name: str, options: Json, body: Any) -> Json:
        expect(options.keys() <= {"from", "size"}, f"unrecognized parameter {options}")
        if name not in self.synonyms:
            raise Refused(404, "resource_not_found_exception", f"synonyms set [{name}] not found")
        rows = [{"id": key, "synonyms": rule} for key, rule in sorted(self.synonyms[name].items())]
        start = int(options.get("from", 0))
        return {"count": len(rows), "synonyms_set": rows[start : start + int(options.get("size", 10))]}

    def put_synonyms(self, name: str, options: Json, body: Any) -> Json:
        expect(not options, f"unrecognized parameter {options}")
        rows = keys(body, {"synonyms_set"})["synonyms_set"]
        for row in rows:
            valid_rule(keys(row, {"id", "synonyms"})["synonyms"])
        expect(
            len({row["id"] for row in rows}) == len(rows), "duplicate rule ids", "action_request_validation_exception"
        )
        result = "updated" if name in self.synonyms else "created"
        self.synonyms[name] = {row["id"]: row["synonyms"] for row in rows}
        return {"result": result, "reload_analyzers_details": {"_shards": {}, "reload_details": []}}

    def info(self, name: str, options: Json, body: Any) -> Json:
        return {"version": {"number": "9.0.0"}, "tagline": "You Know, for Search"}


def valid_rule(rule: str) -> None:
    sides = re.split(r"(?<!\\)=>", rule)
    parts = [part.strip() for side in sides for part in re.split(r"(?<!\\),", side)]
    expect(len(sides) <= 2 and all(parts), f"Invalid synonym rule: {rule}", "illegal_argument_exception")


ROUTES: list[tuple[str, str, Callable[[Fake, str, Json, Any], Json], str]] = [
    ("PUT", r"/_synonyms/([^/]+)", Fake.put_synonyms, "elasticsearch"),
    ("GET", r"/_synonyms/([^/]+)", Fake.get_synonyms, "elasticsearch"),
    ("PUT", r"/([a-z0-9]+)", Fake.create, ""),
    ("DELETE", r"/([a-z0-9]+)", Fake.delete, ""),
    ("POST", r"/([a-z0-9]+)/_search", Fake.search, ""),
    ("PUT", r"/([a-z0-9]+)/_bulk", Fake.bulk, ""),
    ("POST", r"/([a-z0-9]+)/_bulk", Fake.bulk, ""),
    ("POST", r"/([a-z0-9]+)/_refresh", Fake.refresh, ""),
    ("GET", r"/([a-z0-9]+)/_settings", Fake.settings, ""),
    ("PUT", r"/([a-z0-9]+)/_settings", Fake.put_settings, ""),
    ("POST", r"/([a-z0-9]+)/_close", Fake.close, ""),
    ("POST", r"/([a-z0-9]+)/_open", Fake.open, ""),
]


def _handler(fake: Fake) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            try:
                status, value = 200, self.value(raw.decode())
            except Refused as refused:
                cause = {"type": refused.kind, "reason": refused.reason}
                error = {**cause, "root_cause": [cause]}
                status, value = refused.status, {"error": error, "status": refused.status}
            given = json.dumps(value).encode()
            self.send_response(status)
            compatible = "vnd.elasticsearch+json" in (self.headers.get("accept") or "")
            kind = "application/vnd.elasticsearch+json;compatible-with=9" if compatible else "application/json"
            self.send_header("content-type", kind)
            if fake.kind == "elasticsearch":
                self.send_header("x-elastic-product", "Elasticsearch")
            self.send_header("content-length", str(len(given)))
            self.end_headers()
            self.wfile.write(given)

        def value(self, raw: str) -> Json:
            url = urlsplit(self.path)
            options = {key: values[-1] for key, values in parse_qs(url.query, strict_parsing=bool(url.query)).items()}
            lines = url.path.endswith("/_bulk")
            body = [json.loads(line) for line in raw.splitlines()] if lines else json.loads(raw) if raw else None
            fake.asked.append((f"{self.command} {url.path}", url.query, body))
            fake.headers.append({name.lower(): value for name, value in self.headers.items()})
            if fake.failing is not None:
                status, error = fake.failing
                raise Refused(status, error["type"], error["reason"])
            for method, path, handle, only in ROUTES:
                found = re.fullmatch(path, url.path)
                if found and method == self.command and only in ("", fake.kind):
                    return handle(fake, found[1], options, body)
            raise Refused(400, "invalid_request", f"no handler found for uri [{url.path}] and method [{self.command}]")

        do_GET = do_POST = do_PUT = do_DELETE = answer

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

    return Handler


@contextmanager
def serving(kind: str) -> Iterator[tuple[Fake, str]]:
    """A fake of this kind and its address."""
    fake = Fake(kind)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(fake))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield fake, f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
