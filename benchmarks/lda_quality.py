# SPDX-License-Identifier: BSD-3-Clause
"""How well LDA's defaults predict new documents, against Gibbs sampling.

Held-out perplexity by document completion, one judge for all: half of a document's
tokens give its mixture, by fold-in with the model's own α, the other half is scored.
Every fit runs in a process of its own.

    python -m benchmarks.lda_quality --corpora DIR --old SRC

`--old` is the folder ``src`` of version 0.1.0; `--peer-python` a Python with tomotopy.
Results are kept in ``lda_quality.json``, a line of the page for every corpus and K, and
what is there already is not fitted again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

RESULTS = Path(__file__).parent / "results"
ROOT = Path(__file__).parents[1]
# Corpora on which the defaults were chosen, and corpora that had no part in it.
CHOSEN = ("ap_blei", "reuters21578_dengcai", "short_searchsnippets", "short_tweet")
UNSEEN = ("ohscal", "emailspam_csdmc2010", "wap", "tdt2_dengcai", "la1s", "k1b")
SWEEPS = 200
PEERS = {
    "lda": "LDA",
    "old": "LDA of 0.1.0",
    "gibbs": "GibbsLDA",
    "tomotopy": "tomotopy",
}


def fit_lda(train, n_topics, seed):
    """LDA with its defaults, to its own end; the same call in version 0.1.0."""
    from topicfold import LDA

    model = LDA(n_topics, random_state=seed, n_jobs=1).fit(train)
    return model.components_, model.doc_topic_prior_, model.n_iter_


def fit_gibbs(train, n_topics, seed):
    """GibbsLDA with its defaults but for the number of sweeps."""
    from topicfold import GibbsLDA

    model = GibbsLDA(n_topics, max_iter=SWEEPS, random_state=seed, n_jobs=1).fit(train)
    return model.components_, model.doc_topic_prior_, SWEEPS


def fit_tomotopy(train, n_topics, seed):
    """Tomotopy's LDAModel with its own defaults."""
    import tomotopy

    model = tomotopy.LDAModel(k=n_topics, seed=seed)
    for start, end in zip(train.indptr[:-1], train.indptr[1:], strict=True):
        counts = train.data[start:end].astype(np.int64)
        words = np.repeat(train.indices[start:end], counts)
        if len(words):
            model.add_doc([str(word) for word in words])
    model.train(SWEEPS, workers=1)
    known = np.array([int(name) for name in model.used_vocabs])
    topics = np.zeros((n_topics, train.shape[1]))
    for k in range(n_topics):
        topics[k, known] = model.get_topic_word_dist(k)
    return topics, np.asarray(model.alpha), SWEEPS


FITS = {"lda": fit_lda, "old": fit_lda, "gibbs": fit_gibbs, "tomotopy": fit_tomotopy}


def fit_here(peer: str, folder: Path, n_topics: int, seed: int) -> None:
    """In the child: fit the training counts of `folder`, write what was learned."""
    train = sp.csr_matrix(sp.load_npz(folder / "train.npz"))
    began = time.process_time()
    topics, alpha, n_iter = FITS[peer](train, n_topics, seed)
    seconds = time.process_time() - began
    np.savez(
        folder / f"{peer}.npz",
        topics=topics,
        alpha=alpha,
        n_iter=n_iter,
        seconds=seconds,
    )


def held_out(counts: sp.csr_matrix, n_documents: int, seed: int = 0):
    """Return training documents and the two halves of the others' tokens."""
    rng = np.random.default_rng(seed)
    used = np.flatnonzero(counts.getnnz(axis=1))
    order = rng.permutation(used)[:n_documents]
    cut = int(0.8 * len(order))
    train, test = counts[order[:cut]], counts[order[cut:]]
    seen = np.flatnonzero(train.getnnz(axis=0))
    train, test = sp.csr_matrix(train[:, seen]), sp.csr_matrix(test[:, seen])
    fold, score = test.copy(), test.copy()
    fold.data = rng.binomial(test.data.astype(np.int64), 0.5).astype(np.float64)
    score.data = test.data - fold.data
    for half in (fold, score):
        half.eliminate_zeros()
    return train.astype(np.float32), fold, score


def perplexity(topics, alpha, fold, score, unigram) -> float:
    """Score the second half under mixtures of the first, one hundredth unigram."""
    from topicfold.infer.fold_in import fold_in

    topics = np.asarray(topics, np.float64)
    alpha = np.broadcast_to(alpha, len(topics))
    theta = fold_in(fold, topics, prior=alpha, dtype=np.float64)
    entries = score.tocoo()
    found = np.einsum("ik,ik->i", theta[entries.row], topics.T[entries.col])
    found = 0.99 * found + 0.01 * unigram[entries.col]
    loglik = entries.data @ np.log(found) / entries.data.sum()
    return float(np.exp(-loglik))


def measure(args, name: str, n_topics: int) -> dict:
    """Fit every peer to one corpus and judge it."""
    counts = sp.csr_matrix(sp.load_npz(args.corpora / name / "counts.npz"))
    train, fold, score = held_out(counts, args.documents)
    unigram = np.asarray(train.sum(axis=0)).ravel() / train.sum()
    facts = {
        "corpus": name,
        "k": n_topics,
        "documents": train.shape[0],
        "terms": train.shape[1],
        "length": float(train.sum() / train.shape[0]),
    }
    with tempfile.TemporaryDirectory() as folder:
        sp.save_npz(Path(folder) / "train.npz", train)
        for peer in PEERS:
            source = args.old if peer == "old" else ROOT / "src"
            python = args.peer_python if peer == "tomotopy" else sys.executable
            command = [python, __file__, "--child", peer, folder, str(n_topics)]
            environment = os.environ | {"PYTHONPATH": str(source)}
            subprocess.run(command, check=True, env=environment, cwd=folder)
            with np.load(Path(folder) / f"{peer}.npz") as found:
                judged = perplexity(
                    found["topics"], found["alpha"], fold, score, unigram
                )
                facts[peer] = {
                    "perplexity": judged,
                    "passes": int(found["n_iter"]),
                    "seconds": float(found["seconds"]),
                }
    return facts


def page(rows: list[dict]) -> str:
    """Return the table."""
    lines = [
        "# Held-out perplexity of LDA's defaults",
        "",
        "`python -m benchmarks.lda_quality --corpora DIR --old SRC`: document"
        " completion, one judge, each model's own α. LDA and LDA of version 0.1.0 run"
        " to their own end with their defaults, GibbsLDA and tomotopy for"
        f" {SWEEPS} sweeps. Each corpus is a sample of at most"
        f" {max(r['documents'] for r in rows) * 5 // 4} documents, four fifths of them"
        " for training, one seed. Lower is better; the best of a line is bold."
        " Corpora marked * had no part in the choice of the defaults.",
        "",
        "| corpus | words per document | K | "
        + " | ".join(PEERS.values())
        + " | passes of LDA |",
        "| --- | --- | --- |" + " --- |" * (len(PEERS) + 1),
    ]
    for row in rows:
        values = [row[peer]["perplexity"] for peer in PEERS]
        cells = [f"**{v:.0f}**" if v == min(values) else f"{v:.0f}" for v in values]
        name = row["corpus"] + ("" if row["corpus"] in CHOSEN else " *")
        facts = [name, f"{row['length']:.0f}", str(row["k"])]
        lines.append(
            "| " + " | ".join([*facts, *cells, str(row["lda"]["passes"])]) + " |"
        )
    ratios = {
        peer: np.exp(
            np.mean(
                [np.log(r["lda"]["perplexity"] / r[peer]["perplexity"]) for r in rows]
            )
        )
        for peer in PEERS
        if peer != "lda"
    }
    below = sum(r["lda"]["perplexity"] < r["tomotopy"]["perplexity"] for r in rows)
    means = ", ".join(f"{PEERS[peer]} {ratio:.3f}" for peer, ratio in ratios.items())
    lines += [
        "",
        f"Geometric mean of LDA's perplexity over that of the others: {means}."
        f" LDA is below tomotopy in {below} of {len(rows)} lines.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure what is not there yet; write the results and the page after each line."""
    if "--child" in sys.argv:
        _, _, peer, folder, n_topics = sys.argv
        fit_here(peer, Path(folder), int(n_topics), seed=1)
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--corpus", nargs="+", default=[*UNSEEN, *CHOSEN])
    parser.add_argument("-k", nargs="+", type=int, default=[20, 100])
    parser.add_argument("--documents", type=int, default=1500)
    parser.add_argument("--old", type=Path, required=True)
    parser.add_argument("--peer-python", default=sys.executable)
    args = parser.parse_args()
    stored = RESULTS / "lda_quality.json"
    rows = json.loads(stored.read_text("utf-8")) if stored.exists() else []
    for name in args.corpus:
        for n_topics in args.k:
            if any(r["corpus"] == name and r["k"] == n_topics for r in rows):
                continue
            rows.append(measure(args, name, n_topics))
            sys.stdout.write(f"{json.dumps(rows[-1])}\n")
            sys.stdout.flush()
            stored.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
            (RESULTS / "lda_quality.md").write_text(page(rows), "utf-8")


if __name__ == "__main__":
    main()
