# SPDX-License-Identifier: BSD-3-Clause
"""Supervised topics against the tables of the two-phase paper, and raw words.

    TOPICFOLD_CORPORA=DIR python -m benchmarks.supervised --splits 0 1 2 3 4
    TOPICFOLD_CORPORA=DIR python -m benchmarks.supervised --corpus oh0 --only MedLDA
    python -m benchmarks.supervised --scale 200000 --jobs 2

Stratified 80/20 splits; the topics, the neighbours and the classifier see the
training part only. Linear SVM on √θ (raw words: on tf-idf), C by cross-validation on
the training part; MedLDA classifies by itself. A finished cell is a line of
``results/supervised.jsonl``, a later run skips it; ``supervised.md`` is the table.

``--scale``: both phases on as many synthetic documents, time and peak memory.
"""

import argparse
import json
import os
import resource
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    StratifiedShuffleSplit,
    train_test_split,
)
from sklearn.svm import LinearSVC

from topicfold import FSTM, LDA, PLSA, MedLDA, TwoPhase
from topicfold.corpus import load_folder
from topicfold.exceptions import EmptyDocumentWarning

RESULTS = Path(__file__).parent / "results"
N_TOPICS = 120
COSTS = (1.0, 8.0, 64.0)
WORD_COSTS = (0.25, 1.0, 4.0)
# C is chosen on at most so many of the training documents.
MOST_CROSS_VALIDATED = 4000
SCALE_TOPICS = 40
BASES = {"FSTM": FSTM, "PLSA": PLSA, "LDA": LDA}
WORDS = "tf-idf words"
WEIGHTED = "FSTM^c, no neighbours"
PLAIN = "FSTM^c, words as they are"
# How the second phase is set, the same for all corpora.
BEST = {"word_weights": "classes", "neighbor_weight": 0.5}
SETTINGS = {
    **{f"{base}^c": BEST for base in BASES},
    WEIGHTED: {"word_weights": "classes"},
    PLAIN: {},
}
METHODS = (WORDS, *BASES, *SETTINGS, "MedLDA")
# Table 3 of the paper: accuracy in percent, seconds to learn the space.
PAPER_COLUMNS = ("PLSA^c", "LDA^c", "FSTM^c", "MedLDA")
PAPER = {
    "oh0": ((85.35, 86.36, 87.37, 82.32), (39.21, 816.33, 16.56, 2823.64)),
    "oh5": ((80.45, 78.77, 84.36, 76.54), (34.08, 955.77, 17.03, 2693.26)),
    "oh10": ((72.60, 71.63, 76.92, 64.42), (37.38, 911.33, 18.81, 2834.40)),
    "oh15": ((79.78, 78.09, 80.90, 78.65), (38.54, 769.46, 15.46, 2877.69)),
    "la1s": ((88.24, 87.77, 89.03, 64.58), (287.05, 11149.08, 275.78, 23937.88)),
    "la2s": ((89.89, 89.07, 90.86, 63.78), (219.39, 9175.08, 238.87, 25464.44)),
    "ohscal": ((71.77, 70.29, 74.96, 64.99), (584.74, 16775.75, 326.50, 38803.13)),
    "news20_libsvm_train": (
        (83.72, 80.34, 86.53, 78.24),
        (556.20, 18105.92, 415.91, 37076.36),
    ),
    "emailspam_csdmc2010": (
        (94.34, 95.73, 96.31, 94.23),
        (124.07, 1534.90, 56.56, 2978.18),
    ),
}


class Split:
    """One corpus, cut in training and test documents."""

    def __init__(self, name, seed):
        corpus = load_folder(Path(os.environ["TOPICFOLD_CORPORA"]) / name)
        X = sp.csr_matrix(corpus.counts, dtype=np.float32)
        y = np.unique(corpus.labels, return_inverse=True)[1]
        cut = StratifiedShuffleSplit(1, test_size=0.2, random_state=seed)
        train, test = next(cut.split(X, y))
        self.X, self.y, self.X_test, self.y_test = X[train], y[train], X[test], y[test]

    def svm(self, train, test, costs=COSTS):
        """Return accuracy of a linear SVM, and its C."""
        part = np.arange(len(self.y))
        if len(part) > MOST_CROSS_VALIDATED:
            part, _ = train_test_split(
                part,
                train_size=MOST_CROSS_VALIDATED,
                stratify=self.y,
                random_state=0,
            )
        svm = LinearSVC(dual=False, tol=1e-3)
        folds = StratifiedKFold(3, shuffle=True, random_state=0)
        search = GridSearchCV(svm, {"C": list(costs)}, cv=folds, refit=False)
        search.fit(train[part], self.y[part])
        cost = search.best_params_["C"]
        svm.set_params(C=cost).fit(train, self.y)
        return svm.score(test, self.y_test), cost


class Runner:
    """Methods on one split."""

    def __init__(self, split, seed, n_jobs):
        self.split, self.seed, self.n_jobs = split, seed, n_jobs

    def base(self, name):
        """Return an unfitted base model."""
        return BASES[name](N_TOPICS, random_state=self.seed, n_jobs=self.n_jobs)

    def run(self, method):
        """Return accuracy, C of the SVM, and seconds to learn the space."""
        split = self.split
        if method == WORDS:
            words = TfidfTransformer(sublinear_tf=True).fit(split.X)
            parts = words.transform(split.X), words.transform(split.X_test)
            return (*split.svm(*parts, WORD_COSTS), 0.0)
        began = time.process_time()
        if method == "MedLDA":
            model = MedLDA(N_TOPICS, random_state=self.seed, n_jobs=self.n_jobs)
            model.fit(split.X, split.y)
            seconds = time.process_time() - began
            return model.score(split.X_test, split.y_test), None, seconds
        if method in BASES:
            model = self.base(method)
            train = model.fit_transform(split.X)
        else:
            base = self.base(method.split("^")[0])
            model = TwoPhase(base, n_jobs=self.n_jobs, **SETTINGS[method])
            train = model.fit_transform(split.X, split.y)
        seconds = time.process_time() - began
        test = model.transform(split.X_test)
        return (*split.svm(np.sqrt(train), np.sqrt(test)), seconds)


def read_cells(path):
    """Return the finished cells by (corpus, split, method)."""
    lines = path.read_text().splitlines() if path.is_file() else []
    cells = [json.loads(line) for line in lines]
    return {(c["corpus"], c["split"], c["method"]): c for c in cells}


def measure(options, path):
    """Run every cell that is missing."""
    warnings.simplefilter("ignore", EmptyDocumentWarning)
    wanted = [m for m in METHODS if not options.only or m in options.only]
    for seed in options.splits:
        for corpus in options.corpus:
            done = read_cells(path)
            missing = [m for m in wanted if (corpus, seed, m) not in done]
            if not missing:
                continue
            runner = Runner(Split(corpus, seed), seed, options.jobs)
            for method in missing:
                began = time.process_time()
                accuracy, cost, seconds = runner.run(method)
                cell = {
                    "corpus": corpus,
                    "split": seed,
                    "method": method,
                    "accuracy": round(100 * float(accuracy), 3),
                    "C": cost,
                    "seconds": round(seconds, 2),
                    "seconds_with_svm": round(time.process_time() - began, 2),
                }
                with path.open("a") as file:
                    file.write(json.dumps(cell) + "\n")
                print(json.dumps(cell), flush=True)


def table(cells, key, splits):
    """Return rows of the table: mean over splits of `key` by corpus and method."""
    lines = ["| corpus | splits | " + " | ".join(METHODS) + " |"]
    lines.append("|---" * (len(METHODS) + 2) + "|")
    for corpus, (accuracies, seconds) in PAPER.items():
        figures = accuracies if key == "accuracy" else seconds
        paper = dict(zip(PAPER_COLUMNS, figures, strict=True))
        row, counts = [], []
        for method in METHODS:
            values = [
                cells[corpus, s, method][key]
                for s in splits
                if (corpus, s, method) in cells
            ]
            counts.append(len(values))
            text = f"{np.mean(values):.1f}" if values else "–"
            row.append(text + (f" ({paper[method]:.1f})" if method in paper else ""))
        if max(counts):
            number = f"{min(counts)}" if min(counts) == max(counts) else "mixed"
            lines.append(f"| {corpus} | {number} | " + " | ".join(row) + " |")
    return lines


def write_table(path, splits):
    """Write the Markdown beside the cells."""
    cells = read_cells(path)
    about = " ".join(line.strip() for line in __doc__.split("\n\n")[2].splitlines())
    lines = [
        "# Supervised topics",
        "",
        f"K = {N_TOPICS}. {about}",
        "",
        "One setting for all corpora: the ^c columns are ``TwoPhase(base, "
        'word_weights="classes", neighbor_weight=0.5)``, MedLDA has its defaults. Both '
        "were chosen on other splits (seeds 100 and up) of oh0, oh5, oh10, oh15 and "
        "la1s. That the ^c columns have `neighbor_weight` was decided after split 0 "
        "of news20_libsvm_train and oh5 had been seen without it (FSTM^c 82.5 and "
        "85.9), so split 0 of these two is no clean test of that choice.",
        "",
        "Test accuracy in percent, mean over splits; in brackets the paper's figure "
        "(one split of its own).",
        "",
        *table(cells, "accuracy", splits),
        "",
        "CPU seconds to learn the space (of all threads), base model and neighbour "
        "search included; in brackets the paper's seconds.",
        "",
        *table(cells, "seconds", splits),
    ]
    path.with_suffix(".md").write_text("\n".join(lines) + "\n")


def synthetic(n_documents, n_terms=20_000, n_classes=20, n_themes=60, seed=0):
    """Documents of 30 to 60 tokens: three themes, of which one is the class's."""
    rng = np.random.default_rng(seed)
    themes = [rng.permutation(n_terms)[:400] for _ in range(n_themes)]
    y = rng.integers(0, n_classes, n_documents)
    lengths = rng.integers(30, 61, n_documents)
    own = n_classes * rng.integers(0, n_themes // n_classes, n_documents) + y
    chosen = np.column_stack([own, rng.integers(0, n_themes, (n_documents, 2))])
    rows = np.repeat(np.arange(n_documents), lengths)
    theme = chosen[rows, rng.integers(0, 3, len(rows))]
    # Zipf's law within a theme.
    rank = np.minimum((400 ** rng.random(len(rows))).astype(int), 399)
    words = np.array(themes)[theme, rank]
    shape = (n_documents, n_terms)
    X = sp.csr_matrix((np.ones(len(rows), np.float32), (rows, words)), shape=shape)
    return X, y


def measure_scale(options):
    """Both phases on many documents: seconds and peak memory."""
    X, y = synthetic(options.scale)
    started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    base = FSTM(SCALE_TOPICS, max_iter=5, random_state=0, n_jobs=options.jobs)
    model = TwoPhase(
        base,
        n_rounds=1,
        approximate=options.approximate,
        n_jobs=options.jobs,
    )
    began, cpu_began = time.perf_counter(), time.process_time()
    model.fit(X, y)
    seconds = time.perf_counter() - began
    cpu_seconds = time.process_time() - cpu_began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    record = {
        "documents": options.scale,
        "terms": X.shape[1],
        "non_zeros": int(X.nnz),
        "topics": SCALE_TOPICS,
        "threads": options.jobs,
        "approximate": options.approximate,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu_seconds, 1),
        "peak_MiB": round(peak / 1024),
        "peak_before_fit_MiB": round(started / 1024),
    }
    path = RESULTS / "supervised_scale.json"
    records = json.loads(path.read_text()) if path.is_file() else []
    path.write_text(json.dumps([*records, record], indent=1) + "\n")
    print(json.dumps(record))


def main():
    """Parse options and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", nargs="+", default=list(PAPER), choices=PAPER)
    parser.add_argument("--splits", nargs="*", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--only", nargs="+", choices=METHODS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cells", type=Path, default=RESULTS / "supervised.jsonl")
    parser.add_argument("--scale", type=int, help="number of synthetic documents")
    parser.add_argument("--approximate", action="store_true", help="with --scale")
    options = parser.parse_args()
    if options.scale:
        measure_scale(options)
        return
    options.cells.parent.mkdir(exist_ok=True)
    measure(options, options.cells)
    write_table(options.cells, range(5))


if __name__ == "__main__":
    main()
