# SPDX-License-Identifier: BSD-3-Clause
"""Fits that must not move: every model at a fixed seed on a small drawn corpus.

``python tests/golden/golden_fits.py FOLDER`` writes their arrays to ``fits.npz``, and
one saved file for each model. The arrays in ``stored`` are written again only where the
arithmetic was changed on purpose: ``--only NAMES FOLDER`` writes those fits alone.
``python tests/golden/golden_fits.py --bits FOLDER`` says which fits have other bits
than those of FOLDER, which must have been written on the same machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path
from shutil import copy2
from tempfile import TemporaryDirectory

import numpy as np
from scipy import sparse

import topicfold as tf
from topicfold.corpus import vectorize
from topicfold.search import TopicIndex

LABELS = np.arange(60) % 3


def corpus() -> sparse.csr_matrix:
    """60 documents of 3 topics over 90 terms; the topic of a document is its label."""
    rng = np.random.default_rng(20)
    topics = np.kron(np.eye(3), np.ones(30)) * rng.gamma(1.0, size=90) + 0.02
    topics /= topics.sum(axis=1, keepdims=True)
    mixtures = 0.7 * np.eye(3)[LABELS] + 0.3 * rng.dirichlet(np.ones(3), size=60)
    return sparse.csr_matrix([rng.multinomial(50, p) for p in mixtures @ topics])


def models() -> dict[str, object]:
    """Return every model, few iterations, every choice that may change spelled out."""
    few = {"max_iter": 6, "tol": 0.0, "random_state": 0}
    lda = {"doc_topic_prior": 0.1, "topic_word_prior": 0.01, "learn_priors": False}
    phase_two = {
        "n_neighbors": 5,
        "word_weights": None,
        "regression_weight": 0.0,
        "neighbor_weight": 0.0,
    }
    return {
        "plsa": tf.PLSA(4, init="documents", **few),
        "lda-cvb0": tf.LDA(4, algorithm="cvb0", **lda, init="random", **few),
        "lda-variational": tf.LDA(
            4, algorithm="variational", **lda, init="random", **few
        ),
        "lda-online": tf.LDA(4, batch_size=16, **lda, init="random", **few),
        "fstm": tf.FSTM(4, init="documents", **few),
        "gibbs": tf.GibbsLDA(
            4, max_iter=20, burn_in=10, learn_priors=False, random_state=0
        ),
        "lsi": tf.LSI(4, weighting="log-entropy", random_state=0),
        "lapplsi": tf.LaplacianPLSA(4, weight=10.0, init="documents", **few),
        "ltm": tf.LocallyConsistentPLSA(4, weight=1.0, init="documents", **few),
        "dtm": tf.DiscriminativePLSA(4, step=0.3, init="documents", **few),
        "otm": tf.OrthogonalPLSA(4, weight=1.0, init="documents", **few),
        "medlda": tf.MedLDA(4, init="documents", max_pull=None, **few),
        "plsa_c": tf.TwoPhase(tf.PLSA(4, init="documents", **few), **phase_two),
        "fstm_c": tf.TwoPhase(tf.FSTM(4, init="documents", **few), **phase_two),
    }


def fits() -> dict[str, object]:
    """Fit every model; those that use labels have them."""
    X = corpus()
    fitted = {}
    for name, model in models().items():
        needs_labels = name == "medlda" or name.endswith("_c")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are stopped early on purpose
            fitted[name] = model.fit(X, LABELS) if needs_labels else model.fit(X)
    return fitted


def arrays(name: str, model: object) -> dict[str, np.ndarray]:
    """What a fit gave: topics, the mixtures of its documents, the objective."""
    mixtures = model.transform(corpus())
    found = {f"{name}/transform": np.asarray(mixtures)}
    for key in ("components_", "doc_topics_", "objective_history_"):
        if getattr(model, key, None) is not None:
            found[f"{name}/{key}"] = np.asarray(getattr(model, key))
    return found


WORDS = (
    "apple pear plum fig kiwi melon car bus train tram bike ship rain snow hail wind"
)


def texts() -> list[str]:
    """Forty short texts about fruit, traffic and weather."""
    rng = np.random.default_rng(4)
    words = np.array(WORDS.split())
    groups = words[:6], words[6:12], words[12:]
    return [" ".join(rng.choice(groups[d % 3], size=12)) for d in range(40)]


def index() -> TopicIndex:
    """Return an index of `texts` with scores by words."""
    counts, words = vectorize(texts(), min_df=1, max_df=1.0)
    model = tf.LSI(9, weighting="counts", random_state=0).fit(counts)
    empty = TopicIndex(model, vocabulary=words, text={"min_df": 1}, lexical="bm25")
    return empty.add(counts, ids=[f"text {d}" for d in range(40)])


def index_hits(opened: TopicIndex) -> dict[str, list[tuple[str, float]]]:
    """Return what a query finds with and without scores by words."""
    query = "apple kiwi melon rain"
    return {str(mix): list(opened.query(query, n=6, mix=mix)) for mix in (0.0, 0.4)}


def run_command(line: str, folder: Path) -> str:
    """Run ``topicfold LINE`` in `folder`; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "topicfold.cli.main", *line.split()],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{line}: {done.stderr}")
    return done.stdout


def command_outputs(folder: Path) -> dict[str, str]:
    """What the commands write about `texts` in `folder`: data, not prose."""
    (folder / "texts.txt").write_text("\n".join(texts()) + "\n", encoding="utf-8")
    commands = {
        "fit": "fit texts.txt -m plsa -k 3 --seed 1 --max-iter 20 -o model",
        "topics.json": "topics model -n 4 -f json",
        "transform.csv": "transform model texts.txt",
        "convert": "convert texts.txt counts --to ldac",
    }
    written = {}
    for name, line in commands.items():
        output = run_command(line, folder)
        if "." in name:
            written[name] = output
    for file in ("counts", "counts.vocab"):
        written[file] = (folder / file).read_text(encoding="utf-8")
    return written


def main(folder: Path, *, bits: bool, only: list[str]) -> None:
    """Write the arrays, or compare them to the bit."""
    fitted = {n: model for n, model in fits().items() if not only or n in only}
    found = {k: v for n, model in fitted.items() for k, v in arrays(n, model).items()}
    if not bits:
        folder.mkdir(parents=True, exist_ok=True)
        if only:
            with np.load(folder / "fits.npz") as stored:
                found = {**stored, **found}
        np.savez_compressed(folder / "fits.npz", **found)
        if only:
            return
        for name, model in fitted.items():
            model.save(folder / name)
        index().save(folder / "index.safetensors")
        (folder / "index_hits.json").write_text(
            json.dumps(index_hits(index()), indent=1), encoding="utf-8"
        )
        with TemporaryDirectory() as work:
            outputs = command_outputs(Path(work))
            copy2(
                Path(work) / "model" / "model.safetensors",
                folder / "command.safetensors",
            )
        (folder / "commands.json").write_text(
            json.dumps(outputs, indent=1, sort_keys=True), encoding="utf-8"
        )
        return
    stored = np.load(folder / "fits.npz")
    other = [k for k in stored if not np.array_equal(stored[k], found[k])]
    sys.stdout.write("\n".join(other or ["the same bits"]) + "\n")


if __name__ == "__main__":
    chosen = sys.argv[sys.argv.index("--only") + 1 : -1] if "--only" in sys.argv else []
    main(Path(sys.argv[-1]), bits="--bits" in sys.argv, only=chosen)
