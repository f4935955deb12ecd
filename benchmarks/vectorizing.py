# SPDX-License-Identifier: BSD-3-Clause
"""Time counting words against scikit-learn's CountVectorizer, and measure memory.

    python benchmarks/vectorizing.py --corpora /path/to/corpora
    python benchmarks/vectorizing.py --documents 1000000

The first reads 20 Newsgroups' raw JSON lines and counts them, turn by turn with
CountVectorizer in the same process; "file" starts from the file (both sides read it
with topicfold's reader), "texts" from strings in memory. Their words differ a little
(ours have two letters at least), so the settings are min_df=1 and max_df=1.0 against
their defaults and, below, the same document frequencies and stop words. The second
writes so many synthetic documents (Zipf, 80 words each) and counts them to disk, and in
memory, each in a process of its own whose peak of resident memory is reported.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.feature_extraction.text import CountVectorizer

from topicfold.corpus import iter_texts, vectorize, vectorize_file

RESULTS = Path(__file__).parent / "results"
SAME = {"min_df": 2, "max_df": 0.5, "stop_words": "english"}
WORDS_A_DOCUMENT = 80
WORDS = 300_000


def main() -> None:
    arguments = _arguments()
    if arguments.child:
        _child(arguments.child, Path(arguments.file), Path(arguments.out))
        return
    report: dict[str, Any] = {
        "machine": f"{platform.machine()}, {os.cpu_count()} CPU",
        "python": platform.python_version(),
        "scikit-learn": sklearn.__version__,
    }
    if arguments.documents:
        report["memory"] = _memory(arguments.documents, arguments.scratch)
        name = "vectorizing_memory"
    else:
        report["speed"] = _speed(Path(arguments.corpora), arguments.repeats)
        name = "vectorizing_speed"
    print(_table(report))
    if not arguments.dry:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{name}.json").write_text(json.dumps(report, indent=2) + "\n")
        (RESULTS / f"{name}.md").write_text(_table(report) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--corpora", default=os.environ.get("TOPICFOLD_CORPORA", "."))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--documents", type=int, help="measure memory with so many")
    parser.add_argument("--scratch", help="folder for the synthetic file")
    parser.add_argument("--dry", action="store_true", help="write no results")
    for hidden in ("--child", "--file", "--out"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    return parser.parse_args()


# Every word, as CountVectorizer has it.
EVERY: dict[str, Any] = {"min_df": 1, "max_df": 1.0, "stop_words": None}


def _speed(corpora: Path, repeats: int) -> dict[str, Any]:
    file = corpora / "20news_bydate_raw" / "docs.jsonl.gz"
    texts = [document.text for document in iter_texts(file)]

    def theirs_of_file() -> Any:
        return CountVectorizer().fit_transform(d.text for d in iter_texts(file))

    def ours_of_file() -> Any:
        return vectorize((d.text for d in iter_texts(file)), **EVERY)[0]

    runs: dict[str, Callable[[], Any]] = {
        "file, topicfold": ours_of_file,
        "file, scikit-learn": theirs_of_file,
        "texts, topicfold": lambda: vectorize(texts, **EVERY)[0],
        "texts, scikit-learn": lambda: CountVectorizer().fit_transform(texts),
        "same options, topicfold": lambda: vectorize(texts, **SAME)[0],
        "same options, scikit-learn": lambda: CountVectorizer(**SAME).fit_transform(
            texts
        ),
    }
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    shapes = {}
    for _ in range(repeats):
        for name, run in runs.items():
            start = time.perf_counter()
            shapes[name] = (*(found := run()).shape, int(found.nnz))
            seconds[name].append(time.perf_counter() - start)
    return {"documents": len(texts), "seconds": seconds, "shapes": shapes}


def _memory(n_documents: int, scratch: str | None) -> list[dict[str, Any]]:
    rows = []
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        file = Path(folder, "documents.jsonl")
        _write_synthetic(file, n_documents)
        for how in ("disk", "memory"):
            command = [sys.executable, __file__, "--child", how]
            command += ["--file", str(file), "--out", str(Path(folder, how))]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            rows.append(
                {
                    "how": how,
                    "documents": n_documents,
                    "file_megabytes": round(file.stat().st_size / 1e6),
                    **json.loads(done.stdout),
                }
            )
    return rows


def _child(how: str, file: Path, out: Path) -> None:
    """Count one file and print time, shape and the peak of resident memory."""
    start = time.perf_counter()
    if how == "disk":
        counts: Any = vectorize_file(file, out).counts
    else:
        counts = vectorize(document.text for document in iter_texts(file))[0]
    result = {
        "seconds": round(time.perf_counter() - start, 1),
        "shape": list(counts.shape),
        "nnz": int(counts.nnz),
        # Linux gives kilobytes.
        "peak_megabytes": round(
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
        ),
    }
    print(json.dumps(result))


def _write_synthetic(file: Path, n_documents: int) -> None:
    rng = np.random.default_rng(0)
    probability = 1.0 / np.arange(1, WORDS + 1)
    cumulated = np.cumsum(probability / probability.sum())
    words = np.array([_word(rank) for rank in range(WORDS)], dtype=object)
    with file.open("w") as stream:
        for start in range(0, n_documents, 10_000):
            size = (min(10_000, n_documents - start), WORDS_A_DOCUMENT)
            ranks = np.minimum(np.searchsorted(cumulated, rng.random(size)), WORDS - 1)
            for row, document in enumerate(words[ranks]):
                text = " ".join(document)
                label = f"class{row % 20}"
                record = {"id": start + row, "label": label, "text": text}
                stream.write(json.dumps(record) + "\n")


def _word(rank: int) -> str:
    """Return a pronounceable word for a rank; all are different."""
    word = ""
    rank += 20
    while rank:
        rank, part = divmod(rank, 100)
        word += "bcdfghjklmnprstvwxyz"[part // 5] + "aeiou"[part % 5]
    return word


def _table(report: dict[str, Any]) -> str:
    lines = [f"{report['machine']}, Python {report['python']}", ""]
    if "speed" in report:
        speed = report["speed"]
        lines += [
            f"20 Newsgroups, raw, {speed['documents']:,} documents; seconds of wall "
            f"time, best of {len(next(iter(speed['seconds'].values())))}; scikit-learn "
            f"{report['scikit-learn']}",
            "",
            "| from | topicfold | scikit-learn | times as fast |",
            "| --- | ---: | ---: | ---: |",
        ]
        best = {name: min(times) for name, times in speed["seconds"].items()}
        for what in ("file", "texts", "same options"):
            ours, theirs = best[f"{what}, topicfold"], best[f"{what}, scikit-learn"]
            lines.append(
                f"| {what} | {ours:.2f} | {theirs:.2f} | {theirs / ours:.2f} |"
            )
    else:
        lines += [
            "| counted to | documents | file, MB | non-zeros | seconds | peak, MB |",
            "| --- | ---: | ---: | ---: | ---: | ---: |",
        ]
        for row in report["memory"]:
            cells = [row["how"], f"{row['documents']:,}", f"{row['file_megabytes']:,}"]
            cells += [f"{row['nnz']:,}", row["seconds"], f"{row['peak_megabytes']:,}"]
            lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
