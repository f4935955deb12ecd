# SPDX-License-Identifier: BSD-3-Clause
"""Do features of documents make their words more likely, and what do they cost?

Held-out perplexity by document completion with few and many words seen, FeatureLDA
against LDA and against tomotopy's DMR; 10 % of the documents held out. tomotopy's model
is judged by the same measure: its topics and its λ, folded in by the same code.

    python -m benchmarks.sides_features --corpora DIR --write

Give `--peer DIR` for a folder that has tomotopy.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.linear_model import Ridge
from sklearn.preprocessing import MultiLabelBinarizer

from benchmarks.sides_labels import Clock
from topicfold import LDA, FeatureLDA
from topicfold.corpus.splits import complete_split
from topicfold.effects import estimate_effect
from topicfold.infer.fold_in import fold_in
from topicfold.metrics import completion_perplexity
from topicfold.parts import Context
from topicfold.parts.sides import Side
from topicfold.parts.together import SideData

RESULTS = Path(__file__).parent / "results" / "sides_features.md"
SHARES = (0.5, 0.1, 0.02)
MAX_ITER = 60


def load(folder: Path):
    """Return counts and features of a corpus."""
    X = sparse.csr_matrix(sparse.load_npz(folder / "counts.npz")).astype(np.float32)
    X = X[:, np.diff(X.tocsc().indptr) >= 3]
    read = lambda name: (folder / name).read_text("utf-8").splitlines()  # noqa: E731
    if folder.name == "nips0_12":
        features = {
            "year": np.array(read("years.txt"), float),
            "author": [line.split(";") for line in read("authors.txt")],
        }
    else:
        features = {
            "day": np.array(read("time.txt"), float),
            "side": read("labels.txt"),
            "blog": read("blog.txt"),
        }
    return X, features


def some(features, rows):
    """Return the features of some documents."""
    return {name: [values[d] for d in rows] for name, values in features.items()}


class _Given(Side):
    """Prior: a given α of each document."""

    data, hook = "alphas", "prior"

    def prior(self, data, context):
        return data


def fold(X, topics, alphas):
    """Return mixtures with a prior of each document; that alone without words."""
    context = Context(
        *alphas.shape,
        X.shape[1],
        np.asarray(X.sum(axis=1)).ravel(),
        alpha=alphas.mean(axis=0),
        fitting=False,
    )
    sides = SideData([_Given()], [alphas], context)
    place = {"max_iter": 200, "tol": 1e-4, "device": "cpu", "n_jobs": 1}
    return fold_in(sparse.csr_matrix(X), topics, sides=sides, **place)


def perplexities(X, topics, alphas, background) -> list[float]:
    """Perplexity of other words when shares of a document are seen, then none."""
    found = []
    for share in SHARES:
        seen, rest = complete_split(X, fraction=share, random_state=0)
        theta = fold(seen, topics, alphas)
        options = {"background": background, "smoothing": 0.01}
        found.append(completion_perplexity(theta, topics, rest, **options))
    theta = alphas / alphas.sum(axis=1, keepdims=True)
    return [*found, completion_perplexity(theta, topics, X, **options)]


def fit_tomotopy(X, features, n_topics, rounds):
    """Yield (CPU seconds, topics, α of the training rows' features) as it goes on."""
    import tomotopy

    model = tomotopy.DMRModel(k=n_topics, seed=1)
    names = {name: list(map(str, values)) for name, values in features.items()}
    for d in range(X.shape[0]):
        row = X[d]
        words = np.repeat(row.indices, row.data.astype(int)).astype(str).tolist()
        if names.get("side"):
            own = {"metadata": "", "multi_metadata": [f"blog={names['blog'][d]}",
                   f"side={names['side'][d]}"]}  # fmt: skip
        else:
            authors = [f"author={a}" for a in features["author"][d]]
            year = f"year={int(features['year'][d])}"
            own = {"metadata": "", "multi_metadata": [year, *authors]}
        model.add_doc(words, **own)
    order = None
    spent = 0.0
    for _ in range(rounds):
        began = time.process_time()
        model.train(40, workers=1)
        spent += time.process_time() - began
        if order is None:
            order = np.array([int(w) for w in model.used_vocabs])
        topics = np.full((n_topics, X.shape[1]), 1e-12)
        for k in range(n_topics):
            topics[k, order] = model.get_topic_word_dist(k)
        yield spent, topics / topics.sum(axis=1, keepdims=True), model


def peer_prior(model, features, rows):
    """Return tomotopy's α of documents by their features."""
    found = []
    for d in rows:
        if "side" in features:
            own = [f"blog={features['blog'][d]}", f"side={features['side'][d]}"]
        else:
            own = [f"year={int(features['year'][d])}"]
            own += [f"author={a}" for a in features["author"][d]]
        known = set(model.multi_metadata_dict)
        own = [name for name in own if name in known]
        found.append(model.get_topic_prior("", own))
    return np.array(found)


def plain_columns(features, known):
    """Return 0/1 columns of levels and scaled numbers; levels are those of `known`."""
    parts = []
    for name, values in features.items():
        if isinstance(known[name][0], float):
            mean, scale = np.mean(known[name]), np.std(known[name])
            parts.append(sparse.csr_matrix((np.array(values)[:, None] - mean) / scale))
            continue
        lists = [[v] if isinstance(v, str) else v for v in values]
        seen = [[v] if isinstance(v, str) else v for v in known[name]]
        encoder = MultiLabelBinarizer(sparse_output=True).fit(seen)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an author without other papers
            parts.append(encoder.transform(lists))
    return sparse.hstack(parts, format="csr")


def ridge(lda, X, features, train, test, background) -> float:
    """Perplexity, no word seen, by a ridge regression of LDA's mixtures on features."""
    known = some(features, train)
    fitted = Ridge(alpha=1.0).fit(plain_columns(known, known), lda.doc_topics_)
    theta = fitted.predict(plain_columns(some(features, test), known))
    theta = np.maximum(theta, 1e-6)
    theta /= theta.sum(axis=1, keepdims=True)
    options = {"background": background, "smoothing": 0.01}
    return completion_perplexity(theta, lda.components_, X[test], **options)


def drawn(seed: int, tokens: int, planted: bool):
    """Return counts, topics, features, and the effects that were planted."""
    rng = np.random.default_rng(seed)
    n_documents, n_topics, n_terms = 300, 4, 200
    topics = rng.dirichlet(np.full(n_terms, 0.1), n_topics)
    levels = rng.integers(0, 3, n_documents)
    treated, age = rng.integers(0, 2, n_documents), rng.uniform(-1, 1, n_documents)
    columns = np.c_[treated - 0.5, age, levels == 1, levels == 2]
    effects = rng.uniform(-0.06, 0.06, (4, n_topics)) * planted
    effects -= effects.mean(axis=1, keepdims=True)
    means = 1 / n_topics + (columns - [0, 0, 1 / 3, 1 / 3]) @ effects
    theta = np.array([rng.dirichlet(5.0 * row) for row in means])
    X = np.array([rng.multinomial(tokens, row / row.sum()) for row in theta @ topics])
    features = {
        "treated": treated,
        "age": age,
        "level": np.array(["a", "b", "c"])[levels],
    }
    kinds = "0/1", "number", "level", "level"
    return sparse.csr_matrix(X.astype(float)), topics, features, effects, kinds


def coverage(tokens: int, planted: bool, n_corpora: int) -> dict[str, list[float]]:
    """Return by kind of a feature whether intervals contain what was planted."""
    found: dict[str, list[float]] = {}
    for seed in range(n_corpora):
        X, topics, features, effects, kinds = drawn(seed, tokens, planted)
        model = FeatureLDA(len(topics), random_state=seed, n_jobs=1)
        model.fit(X, features=features)
        cost = -np.sqrt(topics) @ np.sqrt(model.components_).T
        own = linear_sum_assignment(cost)[1]  # of each planted topic
        formula = "~ treated + age + level"
        rows = estimate_effect(
            model, formula, features, X=X, n_jobs=1, random_state=seed
        ).rows()
        by_topic = [rows[4 * k : 4 * k + 4] for k in range(len(topics))]
        for k, place in enumerate(own):
            for f, kind in enumerate(kinds):
                row, true = by_topic[place][f], effects[f, k]
                found.setdefault(kind, []).append(row["low"] <= true <= row["high"])
    return found


def measure(folder: Path, n_topics: int, n_splits: int, peer: bool) -> list[dict]:
    """Return a row for each model."""
    X, features = load(folder)
    rows = []
    for split in range(n_splits):
        order = np.random.default_rng(split).permutation(X.shape[0])
        test, train = np.split(order, [X.shape[0] // 10])
        common = {"random_state": split, "max_iter": MAX_ITER, "tol": 0}
        fits = {}
        for _ in range(2 if split == 0 else 1):  # the first compiles
            for name, model, data in (
                ("LDA", LDA(n_topics, **common), {}),
                ("FeatureLDA", FeatureLDA(n_topics, **common),
                 {"features": some(features, train)}),
            ):  # fmt: skip
                clock = Clock()
                began = time.process_time()
                model.set_params(callbacks=[clock]).fit(X[train], **data)
                seconds = time.process_time() - began
                # The mean: features are learned in every tenth pass.
                fits[name] = model, seconds, np.mean(np.diff(clock.times))
        base = fits["LDA"][0].word_frequencies_
        base = (1 - 1e-3) * base + 1e-3 / len(base)
        for name, (model, seconds, own_pass) in fits.items():
            alphas = np.tile(model.doc_topic_prior_, (len(test), 1))
            if name == "FeatureLDA":
                side = model.sides_[0]
                context = model._side_context(X[test], n_topics=n_topics, fitting=False)
                alphas = side.prior(side.check(some(features, test), context), context)
            found = perplexities(X[test], model.components_, alphas, base)
            rows.append({"model": name, "split": split, "found": found,
                         "seconds": seconds, "pass": own_pass,
                         "passes": model.n_iter_})  # fmt: skip
            print(folder.name, rows[-1], flush=True)
        lda = fits["LDA"][0]
        found = [
            *[float("nan")] * len(SHARES),
            ridge(lda, X, features, train, test, base),
        ]
        rows.append({"model": "LDA, then ridge", "split": split, "found": found,
                     "seconds": fits["LDA"][1], "pass": fits["LDA"][2],
                     "passes": lda.n_iter_})  # fmt: skip
        if peer and split == 0:
            own = some(features, train)
            for spent, topics, dmr in fit_tomotopy(X[train], own, n_topics, 25):
                alphas = peer_prior(dmr, features, test)
                found = perplexities(X[test], topics, alphas, base)
                row = {"model": "tomotopy DMR", "split": split, "found": found,
                       "seconds": spent, "pass": spent / dmr.global_step,
                       "passes": dmr.global_step}  # fmt: skip
                print(folder.name, row, flush=True)
                ours = rows[1]
                late = spent > 5 * ours["seconds"]
                if late or found[0] <= ours["found"][0] or dmr.global_step >= 500:
                    break
            rows.append(row)
    return rows


def coverage_lines(n_corpora: int) -> list[str]:
    """Return the table of how often intervals contain what was planted."""
    lines = [
        "Intervals of `estimate_effect(model, ...)` of a fitted FeatureLDA, nominal "
        f"95 %: share that contains the planted effect, {n_corpora} drawn corpora of "
        "300 documents and 4 topics for each line. Without effects, what is not in "
        "the interval is a false positive.",
        "",
        "| tokens | planted | 0/1 | number | level |",
        "| --- | --- | --- | --- | --- |",
    ]
    for tokens in (60, 200):
        for planted in (True, False):
            found = coverage(tokens, planted, n_corpora)
            shares = " | ".join(f"{np.mean(found[k]):.3f}" for k in sorted(found))
            kind = "effects" if planted else "no effects"
            lines.append(f"| {tokens} | {kind} | {shares} |")
            print(lines[-1], flush=True)
    return lines


def main() -> None:
    """Measure, print, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--peer", type=Path)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    if args.peer:
        sys.path.insert(0, str(args.peer))
    lines = [
        "# Features of documents: what they are worth, what they cost",
        "",
        f"`python -m benchmarks.sides_features`, {MAX_ITER} passes, one thread, mean "
        f"over splits ({args.splits}; tomotopy: one, until it reaches FeatureLDA's "
        "perplexity at half the words, takes 5 times its CPU time, or 500 iterations). "
        "A tenth of the documents is held out; perplexity of their other words when a "
        "share of the words is seen, and when none is. Features of new documents are "
        "known. nips0_12: year and authors; poliblog5k_stm: "
        "day, side and blog. How penalty and strength are chosen, and the weight of "
        "names in a list, were decided on splits 0 and 1 of these corpora.",
        "",
        "| corpus | K | model | 1/2 | 1/10 | 1/50 | none | CPU s | passes | per pass |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, n_topics in (("poliblog5k_stm", 20), ("nips0_12", 50)):
        rows = measure(args.corpora / name, n_topics, args.splits, bool(args.peer))
        for model in dict.fromkeys(row["model"] for row in rows):
            own = [row for row in rows if row["model"] == model]
            found = np.mean([row["found"] for row in own], axis=0)
            seconds = np.mean([row["seconds"] for row in own])
            numbers = " | ".join("" if v != v else f"{v:.0f}" for v in found)
            lines.append(
                f"| {name} | {n_topics} | {model} | {numbers} | {seconds:.1f} | "
                f"{own[0]['passes']} | {np.mean([row['pass'] for row in own]):.3f} |"
            )
    lines += ["", *coverage_lines(args.draws)]
    print("\n".join(lines))
    if args.write:
        RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
