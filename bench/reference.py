"""RM3 in its reference implementation, Anserini on Lucene, beside Dragoman on the same questions.

    python -m bench.reference [DATA] [--only NAME,...]

Anserini's jar comes in pyserini's package, which is installed under `.peers/` without anything else of
it; a Java of 11 or later has to be there, else one line says that it is not. RM3 has Anserini's own
settings (ten words of ten documents, half the weight the question's), BM25 the k1 and b that Dragoman
has. Milliseconds are those of one thread, Anserini's by its own account.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from bench.effect import HERE, KEPT
from dragoman import portal
from dragoman.dragoman import Dragoman
from dragoman.errors import IndexStateError
from dragoman.evaluate import Collection, read_collection
from dragoman.evaluate.measures import MAIN, per_question
from dragoman.evaluate.recorded import Ids, RunFile
from dragoman.evaluate.run import Arm, run_arm
from dragoman.profile import load_profile
from dragoman.profile_steps import Parts
from dragoman.protocols import Retriever
from dragoman.retrievers import open_index
from dragoman.rewriters.feedback import Feedback

PACKAGE = "pyserini==0.25.0"
PEER = HERE / ".peers" / "anserini"
COLLECTIONS = ("nfcorpus", "scifact", "or_sharc", "va_code")
DEPTH = 100
RM3 = ("-rm3", "-rm3.fbTerms", "10", "-rm3.fbDocs", "10", "-rm3.originalQueryWeight", "0.5")
_RATE = re.compile(r"~([\d.]+) q/s")


class Anserini:
    """The reference implementation, installed.

    Raises:
        RuntimeError: there is no Java, or the package cannot be installed.
    """

    def __init__(self) -> None:
        if shutil.which("java") is None:
            raise RuntimeError("there is no java on the path")
        if not list(PEER.glob("**/anserini-*-fatjar.jar")):
            PEER.mkdir(parents=True, exist_ok=True)
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(PEER), PACKAGE]
            if subprocess.run(pip, check=False).returncode:  # noqa: S603  our own interpreter
                raise RuntimeError(f"{PACKAGE} could not be installed")
        self._jar = next(PEER.glob("**/anserini-*-fatjar.jar"))

    def index(self, corpus: Path, place: Path) -> None:
        """Index a corpus of JSON lines, with the document vectors that RM3 reads."""
        given = place / "corpus"
        given.mkdir(parents=True, exist_ok=True)
        with corpus.open(encoding="utf-8") as rows, (given / "corpus.jsonl").open("w", encoding="utf-8") as file:
            for row in map(json.loads, rows):
                file.write(json.dumps({"id": row["_id"], "contents": f"{row.get('title', '')}\n{row['text']}"}) + "\n")
        self._run(
            "io.anserini.index.IndexCollection",
            *("-collection", "JsonCollection", "-generator", "DefaultLuceneDocumentGenerator", "-storeDocvectors"),
            *("-threads", "1", "-input", str(given), "-index", str(place / "index")),
        )

    def search(self, questions: Mapping[str, str], place: Path, *options: str) -> tuple[Path, float]:
        """The run's file and milliseconds a question, on one thread."""
        topics, run = place / "topics.tsv", place / "run.txt"
        topics.write_text("".join(f"{key}\t{' '.join(text.split())}\n" for key, text in questions.items()), "utf-8")
        said = self._run(
            "io.anserini.search.SearchCollection",
            *("-index", str(place / "index"), "-topics", str(topics), "-topicReader", "TsvString"),
            *("-output", str(run), "-hits", str(DEPTH), "-threads", "1"),
            *("-bm25", "-bm25.k1", "1.2", "-bm25.b", "0.75", *options),
        )
        rate = _RATE.search(said)
        return run, 1000 / float(rate.group(1)) if rate else float("nan")

    def _run(self, program: str, *options: str) -> str:
        command = ["java", "-cp", str(self._jar), program, *options]
        done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603  as installed above
        return done.stdout + done.stderr


def halls(place: Path) -> Iterator[tuple[str, Dragoman]]:
    """Dragoman on the index that `bench.effect` built: words alone, words with feedback, and the default chain."""
    index = open_index(place)
    words: tuple[Retriever, ...] = (index.words,)
    yield "Dragoman, words alone", Dragoman(words)
    yield "Dragoman, words and feedback", Dragoman(words, [Feedback()])
    parts = Parts(retrievers=index.retrievers, vocabulary=index.vocabulary, models=False)
    yield "Dragoman, the default chain", load_profile("default").build(parts)


def measured(collection: Collection, place: Path, anserini: Anserini | None) -> Iterator[tuple[str, float, float]]:
    """System, nDCG@10, milliseconds a question."""
    if anserini is not None and collection.corpus is not None:
        beside = PEER / "kept" / collection.name
        if not (beside / "index").is_dir():
            anserini.index(collection.corpus, beside)
        questions = {asked.id: asked.question.text for asked in collection.questions}
        for name, options in (("Anserini, BM25", ()), ("Anserini, BM25 and RM3", RM3)):
            run, took = anserini.search(questions, beside, *options)
            yield name, _answered(Arm(name, RunFile(run, Ids(collection))), collection)[0], took
    for name, hall in halls(place):
        yield name, *_answered(Arm(name, partial(hall.asearch, depth=DEPTH)), collection)


def _answered(arm: Arm, collection: Collection) -> tuple[float, float]:
    """The arm's nDCG@10, and its milliseconds a question."""
    done = portal.run(run_arm(arm, collection.questions))
    values = per_question(collection.qrels, done.run, [asked.id for asked in collection.judged])
    return float(values[MAIN].mean()), statistics.median(each.seconds for each in done.answered) * 1000


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="bench.reference", description="RM3 in its reference implementation.")
    parser.add_argument("data", nargs="?", type=Path, default=Path(os.environ.get("DRAGOMAN_DATA", "../shared/data")))
    parser.add_argument("--only", default=",".join(COLLECTIONS), help="names of collections, with commas between")
    given = parser.parse_args(arguments)
    anserini: Anserini | None = None
    try:
        anserini = Anserini()
    except RuntimeError as error:
        print(f"without the reference implementation: {error}")
    print("| collection | system | nDCG@10 | ms a question |\n|---|---|---:|---:|")
    for name in given.only.split(","):
        place = KEPT / "index" / name
        try:
            open_index(place).close()
        except IndexStateError:
            print(f"{name}: skipped, no index in {place}; `make effect` builds it")
            continue
        for system, mean, took in measured(read_collection(given.data / name), place, anserini):
            print(f"| {name} | {system} | {mean:.3f} | {took:.1f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
