# SPDX-License-Identifier: BSD-3-Clause
"""Structural, correlated and dynamic topics against R's stm and the simplest rivals.

Stored fits of R's stm (golden files of the corpora) on gadarian and poliblog; drawn
corpora with a known effect; perplexity of CorrelatedLDA beside LDA run as long; the
next slice of DynamicLDA beside LDA and LDA of the last three slices.

    python -m benchmarks.structure --corpora DIR --write
    python -m benchmarks.structure --corpora DIR --write --only gadarian "planted"

topica and tomotopy take part where they are installed. Their topics are scored as
those of LDA are: by its inference of half of every new document.
"""

from __future__ import annotations

import argparse
import copy
import importlib.util
import itertools
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.linear_model import RidgeCV

from topicfold import LDA, CorrelatedLDA, DynamicLDA, StructuralLDA, TimeStampedLDA

RESULTS = Path(__file__).parent / "results" / "structure.md"
PASSES = 100
K_TIME = 30
PEER_PASSES = 30
# Two fits have the same topic if its shares correlate by more over documents.
SAME = 0.8
# What a fit starts from; R's stm and topica start from anchor words.
STARTS = {
    "StructuralLDA": {},
    "StructuralLDA, {} starts": {"n_starts": 0},
    "StructuralLDA from anchor words": {"init": "spectral"},
}


def counts(folder: Path):
    """Return the counts of a corpus."""
    return sparse.csr_matrix(sparse.load_npz(folder / "counts.npz")).astype(np.float32)


def lines(path: Path):
    """Return the lines of a file."""
    return path.read_text("utf-8").splitlines()


def matched(theta, golden):
    """Return the topic of `golden` that is most like each of ours."""
    size = theta.shape[1]
    likeness = np.corrcoef(theta.T, golden.T)[:size, size:]
    return linear_sum_assignment(-likeness)[1]


def difference(theta, group):
    """Return the difference of mean shares between documents with and without."""
    return theta[group].mean(axis=0) - theta[~group].mean(axis=0)


def installed(name: str) -> bool:
    """Whether a peer can take part."""
    return importlib.util.find_spec(name) is not None


def token_lists(X):
    """Return every document as a list of words w0, w1, …"""
    X = sparse.csr_matrix(X)
    rows = itertools.pairwise(X.indptr.tolist())
    names = np.array([f"w{w}" for w in range(X.shape[1])])
    return [
        np.repeat(names[X.indices[a:b]], X.data[a:b].astype(int)).tolist()
        for a, b in rows
    ]


def in_columns(topics, words, n_terms: int):
    """Return the topics of a peer in the columns of X; words it left out are rare."""
    found = np.full((len(topics), n_terms), 1e-9)
    found[:, [int(word[1:]) for word in words]] = np.maximum(topics, 1e-9)
    return found / found.sum(axis=1, keepdims=True)


def scored(lda, topics, X):
    """Return the perplexity of topics by the inference of LDA."""
    model = copy.copy(lda)
    model.components_ = topics.astype(lda.components_.dtype)
    return model.perplexity(X)


def topica_stm(X, size: int, design):
    """Return the bound and mixtures of topica's structural topic model."""
    import topica

    documents = token_lists(X)
    began = time.process_time()
    model = topica.STM(size)
    model.fit(documents, np.asarray(design, float), num_threads=1)
    return model, time.process_time() - began


def starts(number: int):
    """Yield names and options of fits from other starts."""
    for name, options in STARTS.items():
        more = {"n_starts": number} if "n_starts" in options else options
        yield name.format(number), more


def alike(theta, group, golden):
    """Return how many topics are those of stm's fit, and how alike effects are.

    The correlation over all matched topics, and over those that are the same.
    """
    effect, places = difference(theta, group), matched(theta, golden["theta"])
    size = theta.shape[1]
    likeness = np.corrcoef(theta.T, golden["theta"].T)[:size, size:]
    same = likeness[np.arange(size), places] > SAME
    theirs = golden["effect_liberal"][places, 0]
    every = np.corrcoef(effect, theirs)[0, 1]
    return int(same.sum()), every, np.corrcoef(effect[same], theirs[same])[0, 1]


def gadarian(corpora: Path):
    """Yield rows of bound and effects of treatment."""
    folder = corpora / "gadarian_stm"
    X, golden = counts(folder), np.load(folder / "golden.npz")
    design, treated = golden["X"][:, 1:], golden["X"][:, 1] == 1
    shares = difference(golden["theta"], treated)
    yield "R's stm (stored fit)", float(golden["bound"][-1]), shares, float("nan")
    StructuralLDA(3, n_starts=2, max_iter=2).fit(X, prevalence=design)  # compiles
    for name, options in starts(5):
        began = time.process_time()
        model = StructuralLDA(3, random_state=0, **options)
        model.fit(X, prevalence=design)
        seconds = time.process_time() - began
        places = np.argsort(matched(model.doc_topics_, golden["theta"]))
        found = difference(model.doc_topics_, treated)[places]
        bound = model.bound(X, prevalence=design)
        yield name, bound, found, seconds
    if installed("topica"):
        model, seconds = topica_stm(X, 3, design)
        theta = np.asarray(model.doc_topic)
        places = np.argsort(matched(theta, golden["theta"]))
        yield "topica", model.bound, difference(theta, treated)[places], seconds


def poliblog(corpora: Path):
    """Yield rows of bound, likeness of effects, seconds of fit and of draws."""
    folder = corpora / "poliblog5k_stm"
    X, golden = counts(folder), np.load(folder / "golden_stm.npz")
    rating = np.array(lines(folder / "labels.txt"))
    day = np.array(lines(folder / "time.txt"), dtype=float)
    table = {"rating": rating, "day": day}
    bound = float(golden["bound"][-1])
    yield "R's stm (stored fit)", bound, 20, 1.0, 1.0, 50.9, float("nan")
    few = {name: values[:300] for name, values in table.items()}
    formula = "~ rating + s(day)"
    few_passes = StructuralLDA(20, max_iter=2, formula=formula)
    few_passes.fit(X[:300], prevalence=few).theta_draws(2)
    for name, options in starts(3):
        began = time.process_time()
        model = StructuralLDA(20, formula=formula, random_state=0, n_jobs=1, **options)
        model.fit(X, prevalence=table)
        seconds = time.process_time() - began
        began = time.process_time()
        model.theta_draws(25)
        draws = time.process_time() - began
        bound = model.bound(X, prevalence=table)
        found = alike(model.doc_topics_, rating == "Liberal", golden)
        yield name, bound, *found, seconds, draws
    if installed("topica"):
        model, seconds = topica_stm(
            X, 20, model._known(X, {"prevalence": table}).design[:, 1:]
        )
        theta = np.asarray(model.doc_topic)
        found = alike(theta, rating == "Liberal", golden)
        yield "topica", model.bound, *found, seconds, float("nan")


def planted(corpora: Path, n_drawn: int):
    """Yield coverage, slope and error of composed effects on drawn corpora."""
    drawn = np.load(corpora / "planted_effects" / "planted.npz")
    for length in ("60", "250"):
        true, found, errors = [], [], []
        for number in range(n_drawn):
            X = sparse.csr_matrix(drawn[f"counts_{length}"][number].astype(np.float64))
            x = drawn[f"x_{length}"][number].astype(float)
            model = StructuralLDA(3, random_state=0).fit(X, prevalence=x)
            theta = drawn[f"theta_{length}"][number].astype(float)
            places = matched(model.doc_topics_, theta)
            draws = model.theta_draws(25, X=X, prevalence=x).astype(float)
            estimate, error = composed(draws, x)
            true.append(drawn[f"effect_{length}"][number][places])
            found.append(estimate)
            errors.append(error)
        t, e, s = map(np.concatenate, (true, found, errors))
        cover = np.mean(np.abs(e - t) < 1.96 * s)
        yield length, cover, np.polyfit(t, e, 1)[0], np.sqrt(np.mean((e - t) ** 2))


def composed(draws, x):
    """Return slopes of shares on x pooled over draws, and their standard errors."""
    design = np.column_stack([np.ones_like(x), x])
    inverse = np.linalg.inv(design.T @ design)
    slopes = np.einsum("ij,djk->dik", inverse @ design.T, draws)
    rest = draws - np.einsum("ni,dik->dnk", design, slopes)
    within = (rest**2).sum(axis=1) / (len(x) - 2) * inverse[1, 1]
    between = slopes[:, 1].var(axis=0) * (1 + 1 / len(draws))
    return slopes[:, 1].mean(axis=0), np.sqrt(within.mean(axis=0) + between)


def correlated(corpora: Path, names, sizes):
    """Yield perplexity and seconds of LDA and CorrelatedLDA, equal passes."""
    for name, size in zip(names, sizes, strict=True):
        X = counts(corpora / name)
        order = np.random.default_rng(0).permutation(X.shape[0])[:5000]
        fifth = len(order) // 5
        new, old = X[np.sort(order[:fifth])], X[np.sort(order[fifth:])]
        used = np.asarray(old.sum(axis=0)).ravel() > 0
        new, old = new[:, used], old[:, used]
        row = [name, size]
        for kind in (LDA, CorrelatedLDA):
            began = time.process_time()
            options = {"max_iter": PASSES, "tol": 0.0, "n_jobs": 1}
            model = kind(size, random_state=0, **options).fit(old)
            seconds = time.process_time() - began
            row += [model.perplexity(new), seconds]
        yield row


def correlated_peers(corpora: Path, name: str, size: int):
    """Yield perplexity and seconds of LDA, CorrelatedLDA and peers on one corpus."""
    X = counts(corpora / name)
    order = np.random.default_rng(0).permutation(X.shape[0])[:5000]
    fifth = len(order) // 5
    new, old = X[np.sort(order[:fifth])], X[np.sort(order[fifth:])]
    used = np.asarray(old.sum(axis=0)).ravel() > 0
    new, old = new[:, used], old[:, used]
    lda = None
    for kind in (LDA, CorrelatedLDA):
        began = time.process_time()
        model = kind(size, random_state=0, n_jobs=1).fit(old)
        seconds = time.process_time() - began
        lda = lda or model
        yield kind.__name__, model.n_iter_, seconds, scored(lda, model.components_, new)
    documents = token_lists(old)
    if installed("topica"):
        import topica

        began = time.process_time()
        model = topica.CTM(size)
        model.fit(documents, iters=PEER_PASSES, num_threads=1)
        seconds = time.process_time() - began
        topics = in_columns(
            np.asarray(model.topic_word), model.vocabulary, old.shape[1]
        )
        yield "topica CTM", PEER_PASSES, seconds, scored(lda, topics, new)
    if installed("tomotopy"):
        import tomotopy

        model = tomotopy.CTModel(k=size, seed=0)
        for words in documents:
            model.add_doc(words or ["w0"])
        began = time.process_time()
        model.train(PEER_PASSES, workers=1)
        seconds = time.process_time() - began
        topics = np.array([model.get_topic_word_dist(k) for k in range(size)])
        topics = in_columns(topics, model.used_vocabs, old.shape[1])
        yield "tomotopy CT", PEER_PASSES, seconds, scored(lda, topics, new)


def dynamic(corpora: Path):
    """Yield the perplexity of the next slice."""
    for name, file in (
        ("nips0_12", "years.txt"),
        ("sotu", "time.txt"),
        ("poliblog5k_stm", "time.txt"),
    ):
        X = counts(corpora / name)
        years = np.array([float(text[:4]) for text in lines(corpora / name / file)])
        if name == "sotu":
            years = np.floor(years / 10) * 10
        elif name == "poliblog5k_stm":  # days of a year: its twelfths
            years = 1 + np.floor(12 * (years - years.min()) / (np.ptp(years) + 1))
        slices = np.unique(years)
        for cut in slices[-2:]:
            old, new, when = X[years < cut], X[years == cut], years[years < cut]
            used = np.asarray(old.sum(axis=0)).ravel() > 0
            old, new = old[:, used], new[:, used]
            options = {"random_state": 0, "max_iter": PASSES, "tol": 0.0, "n_jobs": 1}
            began = time.process_time()
            lda = LDA(K_TIME, **options).fit(old)
            plain = time.process_time() - began
            last = np.isin(when, slices[slices < cut][-3:])
            near = LDA(K_TIME, **options).fit(old[last])
            near.word_frequencies_ = lda.word_frequencies_
            began = time.process_time()
            model = DynamicLDA(K_TIME, **options).fit(old, time=when)
            seconds = time.process_time() - began
            told = model.perplexity(new, time=np.full(new.shape[0], cut))
            scores = lda.perplexity(new), near.perplexity(new), told
            yield f"{name} {cut:.0f}", *scores, plain, seconds


def dated(corpora: Path):
    """Yield how well topics date new documents, by their words alone."""
    for name, file in (
        ("nips0_12", "years.txt"),
        ("poliblog5k_stm", "time.txt"),
        ("sotu", "time.txt"),
    ):
        X = counts(corpora / name)
        times = np.array([float(text[:4]) for text in lines(corpora / name / file)])
        new = np.random.default_rng(0).permutation(X.shape[0]) < X.shape[0] // 5
        scores = []
        for cls, known in ((LDA, {}), (TimeStampedLDA, {"time": times[~new]})):
            model = cls(20, random_state=0, n_jobs=1).fit(X[~new], **known)
            line = RidgeCV(np.logspace(-3, 3, 13))
            line.fit(model.transform(X[~new]), times[~new])
            scores.append(line.score(model.transform(X[new]), times[new]))
            scores.append(model.perplexity(X[new]))
        yield name, scores[0], scores[2], scores[1], scores[3]


def slices(corpora: Path):
    """Yield held-out perplexity on dtm_example, two splits."""
    folder = corpora / "dtm_example"
    X, sizes = counts(folder), [int(n) for n in lines(folder / "slices.txt")]
    times = np.repeat(np.arange(len(sizes)), sizes).astype(float)
    for seed in (0, 1):
        new = np.random.default_rng(seed).random(X.shape[0]) < 0.2
        options = {"random_state": 0, "max_iter": PASSES, "tol": 0.0, "n_jobs": 1}
        began = time.process_time()
        lda = LDA(20, **options).fit(X[~new])
        seconds = time.process_time() - began
        yield f"LDA, split {seed}", lda.perplexity(X[new]), PASSES, seconds
        began = time.process_time()
        model = DynamicLDA(20, **options).fit(X[~new], time=times[~new])
        seconds = time.process_time() - began
        told = model.perplexity(X[new], time=times[new])
        yield f"DynamicLDA, split {seed}", told, PASSES, seconds
    yield from slices_of_peers(lda, X, times.astype(int), new)


def slices_of_peers(lda, X, times, new):
    """Yield the same of tomotopy's and topica's dynamic topics on the last split."""
    old, size = X[~new], X.shape[1]
    documents = token_lists(old)

    def told(topics_at):
        logs, tokens = 0.0, 0.0
        for slot in np.unique(times[new]):
            rows = X[new & (times == slot)]
            n = float(rows.sum())
            logs += n * np.log(scored(lda, topics_at(slot), rows))
            tokens += n
        return float(np.exp(logs / tokens))

    if installed("tomotopy"):
        import tomotopy

        model = tomotopy.DTModel(k=20, t=int(times.max()) + 1, seed=0)
        for words, slot in zip(documents, times[~new], strict=True):
            model.add_doc(words, timepoint=int(slot))
        began = time.process_time()
        model.train(PASSES, workers=1)
        seconds = time.process_time() - began

        def topics_at(slot):
            rows = [
                model.get_topic_word_dist(k, timepoint=int(slot)) for k in range(20)
            ]
            return in_columns(np.array(rows), model.used_vocabs, size)

        yield "tomotopy DT, split 1", told(topics_at), PASSES, seconds
    if installed("topica"):
        import topica

        began = time.process_time()
        peer = topica.DTM(20)
        peer.fit(documents, times[~new].tolist())
        seconds = time.process_time() - began

        def evolved(slot):
            return in_columns(
                np.asarray(peer.topic_word(int(slot))), peer.vocabulary, size
            )

        yield "topica DTM, split 1", told(evolved), 20, seconds


def table(title: str, heads: list[str], rows) -> str:
    """Return a Markdown table, numbers as they read best."""
    text = [
        f"## {title}\n",
        "| " + " | ".join(heads) + " |",
        "|" + " --- |" * len(heads),
    ]
    for row in rows:
        cells = [_cell(value) for value in row]
        text.append("| " + " | ".join(cells) + " |")
        print(text[-1], flush=True)
    return "\n".join(text) + "\n"


def _cell(value) -> str:
    if isinstance(value, np.ndarray):
        return ", ".join(f"{one:.3f}" for one in value)
    if isinstance(value, float | np.floating):
        if np.isnan(value):
            return ""
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3f}"
    return str(value)


def main() -> None:
    """Run all parts, print the tables, and write them if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--drawn", type=int, default=40)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", nargs="+", help="parts whose titles begin so")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    parts = [] if given.only is None else RESULTS.read_text("utf-8").split("\n## ")
    made = []
    for title, heads, rows, note in sections(given):
        old = [part for part in parts if part.startswith(title)]
        if given.only is None or any(title.startswith(own) for own in given.only):
            made.append(table(title, heads, rows()) + note)
        elif old:
            made.append("## " + old[0].rstrip() + "\n")
    if given.write:
        RESULTS.write_text("\n".join([HEAD, *made]), encoding="utf-8")


HEAD = """# Structure: correlated, structural and dynamic topics

`python -m benchmarks.structure --corpora DIR --write`, one thread. R's stm and topica
start from anchor words, and so does one of our fits; the default starts from LDA's
topics. The bound has many maxima: compare effects over topics that are the same.
"""


def sections(given):
    """Yield the title, heads, rows and the note of every table."""
    seconds, folder = "CPU seconds", given.corpora
    yield (
        "gadarian, K = 3, treatment × party",
        ["fit", "bound (stm's formula)", "effect of treatment by topic", seconds],
        partial(gadarian, folder),
        "",
    )
    yield (
        "poliblog, K = 20, rating + spline of the day",
        [
            *("fit", "bound", f"topics as stm's (correlated > {SAME})"),
            *("likeness of effects to stm's", "of these topics"),
            *(seconds, "25 draws, s"),
        ],
        partial(poliblog, folder),
        "",
    )
    yield (
        f"Known effects: method of composition, 25 draws, {given.drawn} corpora",
        ["tokens per document", "95 % intervals cover", "slope", "RMSE"],
        partial(planted, folder, given.drawn),
        "\nR's stm on the same corpora: .917 / 1.11 / .031 and .875 / 1.14 / .034 "
        "(SOURCE.md of planted_effects).\n",
    )
    yield (
        f"Held-out perplexity, {PASSES} passes (CorrelatedLDA after a fit of LDA)",
        ["corpus", "K", "LDA", seconds, "CorrelatedLDA", seconds],
        partial(
            correlated,
            folder,
            ["ap_blei", "ap_blei", "poliblog5k_stm", "la1s", "bbc_news_octis"],
            [50, 100, 50, 50, 50],
        ),
        "",
    )
    yield (
        "Beside peers: bbc_news_octis, K = 50, by LDA's inference",
        ["model", "passes", seconds, "perplexity"],
        partial(correlated_peers, folder, "bbc_news_octis", 50),
        "",
    )
    yield (
        "Dates of new documents from their words, K = 20",
        [
            *("corpus", "R² of LDA and a ridge", "of TimeStampedLDA and a ridge"),
            *("perplexity of LDA", "of TimeStampedLDA"),
        ],
        partial(dated, folder),
        "",
    )
    yield (
        f"Perplexity of the next slice, K = {K_TIME}",
        ["slice", "LDA", "LDA of 3 last", "DynamicLDA", "LDA, s", "DynamicLDA, s"],
        partial(dynamic, folder),
        "\n`decay` and `strength` were chosen on nips0_12 1999, both slices of sotu "
        "and split 0 below; the others had no part in it.\n",
    )
    yield (
        "dtm_example, K = 20: a fifth of the documents held out",
        ["model", "perplexity", "passes", seconds],
        partial(slices, folder),
        "",
    )


if __name__ == "__main__":
    main()
