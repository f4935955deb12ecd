# SPDX-License-Identifier: BSD-3-Clause
"""The guide's pictures, drawn when the documentation is built.

Data are the built-in corpus, small drawn corpora, and results files of the benchmarks.
A picture is drawn again when this file or what it reads has changed.

To see one: ``python docs/pictures.py FOLDER``.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
import drawn
from diagrams import scaling, sides, which_model
from matplotlib.figure import Figure

from topicfold import (
    FSTM,
    LDA,
    LSI,
    PLSA,
    LaplacianPLSA,
    OrthogonalPLSA,
    TopicData,
    TwoPhase,
    plotting,
)
from topicfold.corpus import load_docs

RESULTS = Path(__file__).resolve().parent.parent / "benchmarks" / "results"
CLASSES = ["scipy.signal", "scipy.optimize", "scipy.spatial", "sklearn.cluster"]
NEAR = [
    "scipy.cluster",
    "scipy.spatial",
    "sklearn.cluster",
    "sklearn.neighbors",
]
BLUE, ORANGE, GREEN, GREY = "#30638e", "#d1722c", "#4c8c4a", "#9a9a9a"


@cache
def corpus() -> Any:
    """Return the part of the built-in corpus that the pictures use."""
    return load_docs(subset=CLASSES)


@cache
def fitted(n_topics: int = 8) -> Any:
    """Return LDA on that part."""
    return LDA(n_topics, random_state=0).fit(corpus().counts)


def topics_and_theta() -> Figure:
    """A document's mixture, and the words of its largest topics."""
    words = fitted().topic_data(corpus().vocabulary).top_terms(7)
    theta = fitted().doc_topics_
    # The document that is most evenly shared by three topics.
    third = np.sort(theta, axis=1)[:, -3]
    row = int(np.argmax(third))
    largest = np.argsort(-theta[row])[:3]
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.1, 1])
    colors = [GREY] * theta.shape[1]
    for topic, color in zip(largest, (BLUE, ORANGE, GREEN), strict=True):
        colors[topic] = color
    left.bar(range(theta.shape[1]), theta[row], color=colors)
    left.set(xlabel="topic k", ylabel="share", title="θ of one document: its row")
    right.axis("off")
    right.set_title("φ: the words of its topics")
    for place, (topic, color) in enumerate(
        zip(largest, (BLUE, ORANGE, GREEN), strict=True)
    ):
        text = f"topic {topic}\n" + "\n".join(words[topic])
        right.text(
            place / 3, 0.95, text, color=color, va="top", fontsize=10, linespacing=1.4
        )
    return figure


def few_labels() -> Figure:
    """Accuracy over the number of labels, from the results file."""
    found = json.loads((RESULTS / "few_labels.json").read_text(encoding="utf-8"))
    name = "20news_bydate_raw"
    shown = {
        "TopicClassifier": BLUE,
        "label spreading, α=0.9": GREEN,
        "tf-idf + LR": ORANGE,
        "LSA-100 + LR": GREY,
    }
    figure = Figure(figsize=(6.5, 3.6), layout="constrained")
    axes = figure.subplots()
    sizes = found[name]["sizes"]
    for method, values in found[name]["methods"].items():
        if method not in shown:
            continue
        means, deviations = zip(*(values["scores"][str(s)] for s in sizes), strict=True)
        axes.errorbar(
            *(sizes, means, deviations),
            marker="o",
            capsize=3,
            color=shown[method],
            label=method,
        )
    axes.set(
        xlabel="labelled documents per class",
        ylabel="test accuracy",
        title="20 Newsgroups, 20 classes",
        xticks=sizes,
    )
    axes.legend(fontsize=8)
    return figure


def graphs_and_links() -> Figure:
    """Short documents that links put in order: PLSA and LaplacianPLSA."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(3), 60)
    words = np.full((3, 60), 0.02)
    for group in range(3):
        words[group, group * 20 : (group + 1) * 20] = 0.06
    words /= words.sum(axis=1, keepdims=True)
    counts = np.stack([rng.multinomial(12, words[g]) for g in groups])
    links = [
        (i, int(rng.choice(np.flatnonzero(groups == groups[i]))))
        for i in range(len(groups))
        for _ in range(4)
    ]
    links = [(i, j) for i, j in links if i != j]
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    models = {
        "PLSA: words only": PLSA(3, random_state=1),
        "LaplacianPLSA: words and links": LaplacianPLSA(
            3, graph=np.array(links), random_state=1
        ),
    }
    for axes, (title, model) in zip(figure.subplots(1, 2), models.items(), strict=True):
        _triangle(axes, model.fit(counts).doc_topics_, groups)
        axes.set_title(title)
    return figure


def _triangle(axes: Any, theta: Any, groups: Any) -> None:
    corners = np.array([[0, 0], [1, 0], [0.5, 0.87]])
    axes.plot(*corners[[0, 1, 2, 0]].T, color=GREY, linewidth=1)
    rng = np.random.default_rng(0)
    places = theta @ corners + rng.normal(scale=0.012, size=(len(theta), 2))
    for group, color in enumerate((BLUE, ORANGE, GREEN)):
        axes.scatter(*places[groups == group].T, s=16, color=color, alpha=0.7)
    axes.set_aspect("equal")
    axes.axis("off")


def keeping_apart() -> Figure:
    """How much probability every two topics share."""
    figure = Figure(figsize=(8, 3.4), layout="constrained")
    axes = figure.subplots(1, 2)
    models = {
        "PLSA": PLSA(8, random_state=0),
        "OrthogonalPLSA": OrthogonalPLSA(8, random_state=0),
    }
    for place, (title, model) in zip(axes, models.items(), strict=True):
        phi = model.fit(corpus().counts).components_
        shared = np.minimum(phi[:, None], phi[None]).sum(axis=2)
        np.fill_diagonal(shared, np.nan)
        image = place.imshow(shared, vmin=0, vmax=0.5, cmap="Blues")
        place.set(title=f"{title}: mean {np.nanmean(shared):.2f}", xlabel="topic")
    axes[0].set_ylabel("topic")
    figure.colorbar(image, ax=axes, label="probability that two topics share")
    return figure


def supervised() -> Figure:
    """Shares of topics by class, before and after labels are used."""
    near = load_docs(subset=NEAR)
    base = FSTM(6, random_state=0)
    labels = near.labels
    figure = Figure(figsize=(8, 3), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    models = {
        "FSTM: without labels": base.fit(near.counts),
        "TwoPhase(FSTM): with labels": TwoPhase(base).fit(near.counts, labels),
    }
    for place, (title, model) in zip(axes, models.items(), strict=True):
        data = model.topic_data(near.vocabulary, labels=labels)
        classes, table = data.class_topics()
        place.imshow(table, vmin=0, vmax=1, cmap="Blues", aspect="auto")
        place.set(title=title, xlabel="topic", yticks=range(len(classes)))
        place.set_yticklabels(classes)
        for (row, column), value in np.ndenumerate(table):
            if value >= 0.1:
                ink = "white" if value > 0.5 else "black"
                place.text(column, row, f"{value:.1f}", ha="center", color=ink)
    return figure


def choosing_k() -> Figure:
    """Draw what `Selection.plot` draws."""
    from topicfold import select_n_components

    model = LDA(random_state=0, max_iter=40)
    found = select_n_components(
        model, corpus().counts, [4, 8, 16, 32], corpus().labels, n_restarts=2
    )
    figure = found.plot()
    figure.set_size_inches(11, 2.7)
    return figure


def updating() -> Figure:
    """Perplexity of held-out documents while batches come in."""
    from topicfold.corpus import train_test_documents

    train, test = train_test_documents(load_docs(), test_size=0.1, random_state=0)
    order = np.random.default_rng(0).permutation(train.n_documents)
    model = LDA(20, algorithm="variational", random_state=0, total_documents=3000)
    seen, scores = [], []
    for start in range(0, 3000, 300):
        model.partial_fit(train.counts[order[start : start + 300]])
        seen.append(start + 300)
        scores.append(model.perplexity(test.counts))
    figure = Figure(figsize=(6.5, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.plot(seen, scores, marker="o", color=BLUE)
    axes.set(
        xlabel="documents seen by partial_fit",
        ylabel="held-out perplexity",
        title="LDA that learns from batches of 300, built-in corpus",
    )
    return figure


def relevance() -> Figure:
    """The same topic by probability and by relevance."""
    data = fitted().topic_data(corpus().vocabulary)
    share = data.term_frequencies()
    topic = int(np.argmax(data.topic_sizes()))
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    for axes, value in zip(figure.subplots(1, 2), (1.0, 0.3), strict=True):
        ids = np.asarray(data.top_term_ids(10, value))[topic][::-1]
        names = [data.vocabulary[i] for i in ids]
        axes.barh(names, share[ids], color="#d0d9e2", label="in all documents")
        inside = data.topics[topic, ids] * data.topic_sizes()[topic]
        inside = inside * share.sum()
        axes.barh(names, inside, color=BLUE, label="in this topic")
        axes.set_title(f"relevance {value:g}")
        axes.set_xticks([])
    figure.axes[1].legend(fontsize=8, loc="lower right")
    return figure


def editing() -> Figure:
    """Sizes of topics before and after a merge and a split."""
    from topicfold.editing import merge_topics, split_topic

    before = fitted()
    sizes = before.topic_data().topic_sizes()
    small = sorted(int(k) for k in np.argsort(sizes)[:2])
    merged = merge_topics(before, small)
    largest = int(np.argmax(merged.topic_data().topic_sizes()))
    after = split_topic(merged, largest, corpus().counts, n_topics=2)
    figure = Figure(figsize=(8, 2.8), layout="constrained")
    steps = {
        "fitted": before,
        f"topics {small[0]} and {small[1]} merged": merged,
        f"then topic {largest} split": after,
    }
    for axes, (title, model) in zip(
        figure.subplots(1, 3, sharey=True), steps.items(), strict=True
    ):
        values = model.topic_data().topic_sizes()
        changed = {
            "fitted": small,
            f"then topic {largest} split": [largest, len(values) - 1],
        }.get(title, [small[0], largest])
        colors = [ORANGE if k in changed else BLUE for k in range(len(values))]
        axes.bar(range(len(values)), values, color=colors)
        axes.set(title=title, xlabel="topic")
    figure.axes[0].set_ylabel("share of all words")
    return figure


def effects() -> Figure:
    """Topics of SciPy's documentation against NumPy's, with intervals."""
    from topicfold import Topics

    subset = ["numpy.linalg", "numpy.random", "scipy.linalg", "scipy.stats"]
    found = load_docs(subset=subset)
    package = [label.split(".")[0] for label in found.labels]
    length = np.asarray(found.counts.sum(axis=1)).ravel()
    data = {"package": package, "length": length}
    return Topics(6).fit(found).effects("~ package + s(length)", data).plot()


def embeddings() -> Figure:
    """Short texts of three subjects by their vectors, coloured by main topic."""
    rng = np.random.default_rng(0)
    subject = np.repeat(np.arange(3), 80)
    # Two words of 150 that a subject has, and three of 30 that all have: texts of one
    # subject seldom share a word of it.
    counts = np.zeros((240, 480), dtype=int)
    for document, own in enumerate(subject):
        counts[document, rng.choice(150, 2, replace=False) + 150 * own] += 1
        counts[document, rng.choice(30, 3, replace=False) + 450] += 1
    centres = np.array([[0.0, 1.0], [0.9, -0.5], [-0.9, -0.5]])
    vectors = centres[subject] + 0.25 * rng.standard_normal((240, 2))
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    for axes, known, title in zip(
        figure.subplots(1, 2),
        ({}, {"embeddings": vectors}),
        ("words alone", "words and embeddings"),
        strict=True,
    ):
        model = LDA(3, random_state=0).fit(counts, **known)
        main = model.doc_topics_.argmax(axis=1)
        for topic, color in enumerate((BLUE, ORANGE, GREEN)):
            axes.scatter(*vectors[main == topic].T, s=9, color=color)
        axes.set(title=title, xticks=[], yticks=[])
    return figure


@cache
def council() -> tuple[Any, Any]:
    """Return the topics of the drawn speeches, and their columns."""
    from topicfold import Topics

    columns = drawn.speeches()
    found = Topics(6).fit(columns["text"], columns["party"])
    return found, columns


def groups() -> Figure:
    """How much more of each topic one party has, in the drawn speeches."""
    topics, columns = council()
    known = {name: columns[name] for name in ("party", "speaker")}
    return topics.effects("~ party | speaker", known).plot("party")


def over_time() -> Figure:
    """Expected shares of topics along the years, in the drawn speeches."""
    topics, columns = council()
    dates = {"date": columns["date"]}
    return topics.effects("~ s(date)", dates).plot("date")


def structural_topics() -> Figure:
    """Correlations of topics."""
    from topicfold import CorrelatedLDA

    subset = ["numpy.linalg", "numpy.random", "scipy.linalg", "scipy.stats"]
    found = load_docs(subset=subset)
    model = CorrelatedLDA(6, random_state=0, max_iter=60).fit(found)
    words = model.topic_data().top_terms(2)
    names = [" ".join(terms) for terms in words]
    figure = Figure(figsize=(6.5, 4.2), layout="constrained")
    axes = figure.subplots()
    shown = axes.imshow(model.topic_correlations_, cmap="RdBu", vmin=-1, vmax=1)
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axes.set_yticks(range(len(names)), names)
    figure.colorbar(shown, label="correlation")
    return figure


def open_numbers() -> Figure:
    """The number of topics as a chain goes on."""
    from topicfold import HierarchicalDirichletLDA

    rng = np.random.default_rng(0)
    phi = rng.dirichlet(np.full(300, 0.05), 10)
    theta = rng.dirichlet(np.full(10, 0.2), 300)
    X = np.array([rng.multinomial(80, p) for p in theta @ phi])
    figure = Figure(figsize=(6.5, 3), layout="constrained")
    axes = figure.subplots()
    for seed, color in enumerate((BLUE, ORANGE, GREEN)):
        model = HierarchicalDirichletLDA(60, max_iter=150, random_state=seed).fit(X)
        axes.plot(model.n_topics_history_, color=color, label=f"chain {seed + 1}")
    axes.axhline(10, color="gray", linewidth=0.8, label="planted")
    axes.set(xlabel="sweep", ylabel="topics that count", ylim=(0, 42))
    axes.legend(frameon=False)
    return figure


def search() -> Figure:
    """Documents, words and a query in two dimensions of LSI."""
    words = ["car", "auto", "motor", "wheel", "sea", "fish", "boat", "wave"]
    counts = np.array(
        [
            *([2, 0, 1, 1, 0, 0, 0, 0], [0, 2, 1, 1, 0, 0, 0, 0]),
            *([1, 0, 2, 0, 0, 0, 0, 0], [0, 0, 0, 0, 2, 1, 0, 1]),
            *([0, 0, 0, 0, 1, 2, 0, 0], [0, 0, 1, 0, 1, 0, 2, 1]),
        ]
    )
    model = LSI(2, weighting="counts").fit(counts)
    places = model.transform(counts)
    query = model.transform([[1, 0, 0, 0, 0, 0, 0, 0]])[0] * 1.6
    figure = Figure(figsize=(6.5, 3.8), layout="constrained")
    axes = figure.subplots()
    axes.scatter(*places.T, color=BLUE)
    for place, row in zip(places, counts, strict=True):
        text = " ".join(w for w, n in zip(words, row, strict=True) if n)
        axes.annotate(
            text, place, xytext=(6, 3), textcoords="offset points", fontsize=9
        )
    axes.annotate("", query, (0, 0), arrowprops={"arrowstyle": "->", "color": ORANGE})
    axes.annotate(
        'query "car"', query, xytext=(4, -12), textcoords="offset points", color=ORANGE
    )
    axes.axhline(0, color=GREY, linewidth=0.5)
    axes.axvline(0, color=GREY, linewidth=0.5)
    axes.margins(x=0.5, y=0.15)
    axes.set(xlabel="dimension 0", ylabel="dimension 1")
    return figure


@cache
def gallery() -> Any:
    """Return the topics that the gallery shows."""
    from topicfold import Topics

    return Topics(12).fit(load_docs(subset=[*CLASSES, *NEAR])).data_


def gallery_words() -> Figure:
    """Words of topics."""
    return plotting.words(gallery())


def gallery_map() -> Figure:
    """Documents on a plane."""
    return plotting.document_map(gallery())


def gallery_classes() -> Figure:
    """Topics of classes."""
    return plotting.classes(gallery())


def gallery_similarity() -> Figure:
    """Topics that share words."""
    return plotting.similarity(gallery())


def gallery_time() -> Figure:
    """Topics over time, of drawn mixtures: one topic comes, another goes."""
    rng = np.random.default_rng(0)
    years = rng.integers(1990, 2021, 3000)
    weights = np.ones((len(years), 6))
    weights[:, 0] += (years - 1990) / 6
    weights[:, 1] += (2020 - years) / 6
    weights[:, 2] += 6 * np.exp(-(((years - 2004) / 3) ** 2))
    mixtures = rng.gamma(weights)
    words = ["coming", "going", "a wave", "steady", "calm", "even"]
    data = TopicData(
        topics=np.eye(6),
        vocabulary=words,
        topic_names=words,
        doc_topics=mixtures / mixtures.sum(axis=1, keepdims=True),
        times=years,
    )
    return plotting.over_time(data)


PICTURES: dict[str, Callable[[], Figure]] = {
    "gallery_words": gallery_words,
    "gallery_map": gallery_map,
    "gallery_classes": gallery_classes,
    "gallery_similarity": gallery_similarity,
    "gallery_time": gallery_time,
    "topics_and_theta": topics_and_theta,
    "which_model": which_model,
    "few_labels": few_labels,
    "graphs_and_links": graphs_and_links,
    "keeping_apart": keeping_apart,
    "sides": sides,
    "supervised": supervised,
    "choosing_k": choosing_k,
    "updating": updating,
    "relevance": relevance,
    "editing": editing,
    "effects": effects,
    "embeddings": embeddings,
    "groups": groups,
    "over_time": over_time,
    "structural_topics": structural_topics,
    "open_numbers": open_numbers,
    "search": search,
    "scaling": scaling,
}


def draw_all(folder: Path) -> None:
    """Draw the pictures that are not there or were drawn by another version of this."""
    folder.mkdir(parents=True, exist_ok=True)
    sources = [Path(__file__), Path(__file__).with_name("diagrams.py")]
    sources += [Path(drawn.__file__), RESULTS / "few_labels.json"]
    state = hashlib.sha256(b"".join(p.read_bytes() for p in sources)).hexdigest()
    stamp = folder / "drawn"
    known = stamp.exists() and stamp.read_text(encoding="utf-8") == state
    for name, draw in PICTURES.items():
        target = folder / f"{name}.svg"
        if not (known and target.exists()):
            with matplotlib.rc_context({"svg.hashsalt": name, "font.size": 10}):
                draw().savefig(target, metadata={"Date": None})
    stamp.write_text(state, encoding="utf-8")


if __name__ == "__main__":
    draw_all(Path(sys.argv[1]))
