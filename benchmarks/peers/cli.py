# SPDX-License-Identifier: BSD-3-Clause
"""Command line of ``python -m benchmarks.peers``."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.peers import modes, report
from benchmarks.peers.adapters import ADAPTERS
from benchmarks.peers.corpora import hold_out, load_corpus, zipf_corpus
from benchmarks.peers.evaluate import Evaluator

MODES = ("passes", "target", "memory", "startup")
SETTINGS = ("passes", "sweeps", "max_seconds", "clock")
_CORPORA = ("20news_rennie_61188", "tdt2_dengcai")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark; results are written after every row."""
    parser = _parser()
    options = parser.parse_args(argv)
    if options.corpus and options.corpora is None:
        parser.error("--corpus names folders under --corpora DIR; give that too")
    if options.target and len(options.target) != len(options.topics):
        parser.error("--target needs one perplexity for every -k")
    settings = modes.Settings(
        peers=tuple(options.peers),
        topics=tuple(options.topics),
        threads=tuple(options.threads),
        passes=options.passes,
        sweeps=options.sweeps,
        max_seconds=options.max_seconds,
        targets=tuple(options.target),
        seed=options.seed,
        clock=options.clock,
    )
    results = {
        "date": report.today(),
        "machine": report.describe_machine(),
        "peers": report.describe_peers(settings.peers),
        "seed": settings.seed,
        "settings": {key: getattr(settings, key) for key in SETTINGS},
        "corpora": {},
        "rows": [],
    }
    with tempfile.TemporaryDirectory() as folder:
        for row in _rows(options, settings, Path(folder), results["corpora"]):
            results["rows"].append(row)
            print(_line(row), flush=True)
            report.write(results, options.out, options.name)
    print(f"wrote {options.name}.json and {options.name}.md")
    return 0


def _rows(
    options: argparse.Namespace, settings: modes.Settings, folder: Path, described: dict
) -> Iterator[modes.Row]:
    if "startup" in options.mode:
        yield from modes.startup(settings)
    wanted = [mode for mode in MODES[:-1] if mode in options.mode]
    if not wanted:
        return
    for name, counts in _corpora(options):
        split = hold_out(counts, settings.seed, options.test_documents)
        corpus = modes.Corpus(name, split, folder / name)
        corpus.folder.mkdir()
        described[name] = {
            "train_documents": split.train.shape[0],
            "terms": split.train.shape[1],
            "train_nnz": int(split.train.nnz),
            "test_documents": split.fold.shape[0],
            "folded_tokens": int(split.fold.sum()),
            "scored_tokens": int(split.score.sum()),
            **_difficulty(corpus),
        }
        for mode in wanted:
            yield from getattr(modes, mode)(corpus, settings)


def _difficulty(corpus: modes.Corpus) -> dict[str, float]:
    evaluator = Evaluator.load(Path(corpus.test()))
    return {
        "unseen_share": evaluator.unseen_share(),
        "unigram_perplexity": evaluator.unigram_perplexity(),
    }


def _corpora(options: argparse.Namespace) -> Iterator[tuple]:
    if options.corpora is None:
        n_docs = options.documents
        yield f"zipf_{n_docs}", zipf_corpus(n_docs, seed=options.seed)
        return
    for name in options.corpus or _CORPORA:
        yield name, load_corpus(options.corpora, name)


def _line(row: modes.Row) -> str:
    where = f"{row['mode']:8} {row['corpus']} {row['peer']} "
    where += f"K={row['k']} threads={row['threads']}"
    keys = ("measure", "seconds_a_pass", "seconds_to_target", "seconds")
    keys += ("best_perplexity", "perplexity", "peak_bytes", "ratio", "note")
    facts = []
    for key in keys:
        value = row.get(key)
        if value is not None:
            shown = f"{value:.4g}" if isinstance(value, float) else value
            facts.append(f"{key}={shown}")
    return f"{where}: {row['status']} {' '.join(facts)}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers",
        description="Measure topicfold and its peers in one run.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--corpora", type=Path, help="folder of corpora; without it one is drawn")
    add("--corpus", nargs="+", help=f"names under --corpora (else {_CORPORA})")
    add("--documents", type=int, default=3000, help="size of the drawn corpus")
    add("--test-documents", type=int, default=2000, help="held out, at most a quarter")
    add("-k", "--topics", type=int, nargs="+", default=[20, 100])
    add("--peers", nargs="+", choices=ADAPTERS, default=list(ADAPTERS), metavar="PEER")
    add("--threads", type=int, nargs="+", default=[1, 2])
    add("--mode", nargs="+", choices=MODES, default=list(MODES))
    add("--passes", type=int, default=5, help="timed passes after one warm-up pass")
    add("--sweeps", type=int, default=200, help="most passes in mode target")
    add("--max-seconds", type=float, default=300, help="most fit seconds of a curve")
    add("--target", type=float, nargs="+", default=[], help="perplexity for each -k")
    add("--seed", type=int, default=0)
    add("--clock", choices=("wall", "cpu"), default="wall", help="seconds of what")
    add("--out", type=Path, default=Path("benchmarks/results"))
    add("--name", default="peers", help="name of the result files")
    return parser
