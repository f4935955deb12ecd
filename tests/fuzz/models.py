# SPDX-License-Identifier: BSD-3-Clause
"""Models that are fuzzed: how a sound one is made, how a user uses a loaded one."""

from __future__ import annotations

import contextlib
import functools
import json
import tempfile
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

import topicfold
from topicfold import corpus as tf_corpus
from topicfold import evidence
from topicfold.classify.few_labels import default_topics
from topicfold.editing import drop_topics, merge_topics, split_topic
from topicfold.effects import estimate_effect
from topicfold.exceptions import DataError
from topicfold.persistence import load_estimator
from topicfold.phi import DirichletPhi
from topicfold.report import report_html
from topicfold.theta import DirichletTheta

N_DOCUMENTS = 12
MODELS = (
    *("plsa", "lda", "gibbs", "fstm", "lsi", "ltm", "medlda", "classifier"),
    *("orthogonal", "two-phase", "word-network", "authors", "multimodal", "response"),
    *("classes", "links", "features", "labels", "several-labels", "seeds", "two-sides"),
    *("few-labels", "embedded", "correlated", "structural", "dynamic"),
    *("time-stamped", "hdp", "tree", "tree-of-topics", "pachinko", "bursty"),
    *("gibbs-features", "gibbs-labels", "laplacian", "discriminative", "variational"),
    *("batches", "steps", "fstm-c", "near", "prevalence"),
)
FEW: dict[str, Any] = {"max_iter": 3, "random_state": 0}
AUTHORS = [["Ann"], ["Ann", "Bob"], None, ["Cid"]] * 3
FEATURES = {
    "source": ["paper", "blog", ""] * 4,
    "year": [2000.0 + d for d in range(N_DOCUMENTS)],
    "tags": [["a", "b"], ["b"], []] * 4,
}
LINKS = [[0, 1], [2, 3], [4, 5], [0, 6]]
TIMES = [1990, 2000, 2010] * 4
CONTENT = ["left", "right"] * 6
LISTS = [["sea"], ["sky"], ["sea", "sky"], None] * 3


class MisreadError(Exception):
    """A file was read without a word, and its content is not what it says."""


@functools.cache
def small_corpus() -> tf_corpus.Corpus:
    """Return twelve documents of nine words."""
    rng = np.random.default_rng(0)
    counts = sparse.csr_matrix(rng.poisson(0.4, (N_DOCUMENTS, 9)))
    words = [f"word{i}" for i in range(8)] + ["φίλος"]
    return tf_corpus.Corpus(
        counts,
        words,
        labels=[f"c{d % 2}" for d in range(N_DOCUMENTS)],
        ids=[f"d{d}" for d in range(N_DOCUMENTS)],
    )


def _tags() -> Any:
    return sparse.csr_matrix(np.random.default_rng(1).poisson(0.5, (N_DOCUMENTS, 4)))


def fitted(name: str) -> Any:
    """Return a fitted model by its name in `MODELS`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _fitted(name, small_corpus().counts, np.arange(N_DOCUMENTS) % 2)


def _fitted(name: str, X: Any, y: Any) -> Any:
    few = {"weight": 1.0, **FEW}
    match name:
        case "plsa":
            return topicfold.PLSA(3, **FEW).fit(X)
        case "lda":
            return topicfold.LDA(3, **FEW).fit(X)
        case "gibbs":
            return topicfold.GibbsLDA(3, **FEW).fit(X)
        case "gibbs-features":
            model = topicfold.GibbsLDA(3, sides=[evidence.Features()], **FEW)
            return model.fit(X, features=FEATURES)
        case "fstm":
            return topicfold.FSTM(3, **FEW).fit(X)
        case "lsi":
            return topicfold.LSI(3, random_state=0).fit(X)
        case "ltm":
            model = topicfold.LocallyConsistentPLSA(3, transform_neighbors=True, **FEW)
            return model.fit(X)
        case "medlda":
            return topicfold.MedLDA(3, **FEW).fit(X, y)
        case "orthogonal":
            return topicfold.OrthogonalPLSA(3, **FEW).fit(X)
        case "two-phase":
            return topicfold.TwoPhase(topicfold.PLSA(3, **FEW)).fit(X, y)
        case "word-network":
            return topicfold.WordNetworkLDA(3, **FEW).fit(X)
        case "authors":
            return topicfold.AuthorTopics(3, **FEW).fit(X, authors=AUTHORS)
        case "multimodal":
            model = topicfold.MultimodalLDA(3, weights={"tags": 2.0}, **FEW)
            return model.fit({"words": X, "tags": _tags()})
        case "response":
            return topicfold.SupervisedLDA(3, **few).fit(X, np.arange(12.0))
        case "classes":
            return topicfold.SupervisedLDA(3, kind="classes", **few).fit(X, y)
        case "links":
            return topicfold.RelationalLDA(3, **few).fit(X, links=LINKS)
        case "features":
            model = topicfold.FeatureLDA(3, n_knots=3, **FEW)
            return model.fit(X, features=FEATURES)
        case "labels":
            return topicfold.LabeledLDA(**FEW).fit(X, y)
        case "several-labels":
            model = topicfold.LabeledLDA(topics_per_label=2, **FEW)
            return model.fit(X, labels=LISTS)
        case "seeds":
            options = {"seeds": {"a": [0, 1], "b": [2]}, "forbidden": {"a": [3]}}
            return topicfold.SeededLDA(4, **options, **FEW).fit(X)
        case "two-sides":
            own = [evidence.Features(), evidence.Response("classes", weight=1.0)]
            model = topicfold.LDA(3, sides=own, **FEW)
            return model.fit(X, features=FEATURES, response=y)
        case "classifier":
            return topicfold.TopicClassifier(topicfold.PLSA(3, **FEW)).fit(X, y)
        case "few-labels":
            base = default_topics(y, 2, few=True)
            known = np.where(np.arange(N_DOCUMENTS) < 8, y, -1)
            return topicfold.TopicClassifier(base).fit(X, known)
        case "embedded":
            base = topicfold.PLSA(3, **FEW)
            E = np.random.default_rng(2).normal(size=(N_DOCUMENTS, 2))
            return topicfold.TopicClassifier(base).fit(X, y, embeddings=E)
        case "correlated":
            return topicfold.CorrelatedLDA(3, **FEW).fit(X)
        case "structural":
            model = topicfold.StructuralLDA(3, **FEW)
            return model.fit(X, prevalence=FEATURES, content=CONTENT)
        case "dynamic":
            return topicfold.DynamicLDA(3, **FEW).fit(X, time=TIMES)
        case "time-stamped":
            return topicfold.TimeStampedLDA(3, **FEW).fit(X, time=TIMES)
        case "hdp":
            return topicfold.HierarchicalDirichletLDA(6, **FEW).fit(X)
        case "tree":
            return topicfold.TopicTree(6, algorithm="crp", **FEW).fit(X)
        case "tree-of-topics":  # has a leaf for every ten documents
            return topicfold.TopicTree(6, **FEW).fit(sparse.vstack([X] * 4))
        case "pachinko":
            return topicfold.PachinkoLDA(4, n_supertopics=2, **FEW).fit(X)
        case "bursty":
            return topicfold.BurstyLDA(3, **FEW).fit(X)
        case "gibbs-labels":
            model = topicfold.GibbsLDA(3, sides=[evidence.Labels()], **FEW)
            return model.fit(X, labels=LISTS)
        case "laplacian":
            return topicfold.LaplacianPLSA(3, **FEW).fit(X)
        case "discriminative":
            return topicfold.DiscriminativePLSA(3, **FEW).fit(X)
        case "variational":
            return topicfold.LDA(3, algorithm="variational", **FEW).fit(X)
        case "batches":
            return topicfold.LDA(9, batch_size=5, **FEW).fit(X)
        case "steps":
            steps = {"phi_step": DirichletPhi(1.2), "theta_step": DirichletTheta(1.1)}
            return topicfold.PLSA(9, **steps, **FEW).fit(X)
        case "fstm-c":
            return topicfold.TwoPhase(topicfold.FSTM(3, **FEW)).fit(X, y)
        case "near":
            E = np.random.default_rng(2).normal(size=(N_DOCUMENTS, 2))
            return topicfold.LDA(9, **FEW).fit(X, embeddings=E)
        case "prevalence":
            model = topicfold.StructuralLDA(9, **FEW)
            return model.fit(X, prevalence=FEATURES)
    raise ValueError(name)


def use_model(path: Path) -> None:
    """Load a model and call what a user would, with documents of the right shape."""
    model = load_estimator(path)
    X = _of_width(small_corpus().counts, getattr(model, "n_features_in_", None))
    repr(model)
    clone(model)
    if isinstance(model, topicfold.TopicClassifier):
        _use_classifier(model, X)
    else:
        _use_topics(model, X)
    _use_further(model, X, path)


def _of_width(X: Any, n_terms: Any) -> Any:
    """Return documents with as many words as a model has, those of X again and again.

    A wrong number of words is scikit-learn's to refuse, in its own words.
    """
    if type(n_terms) is not int or not 0 <= n_terms < 10_000:
        return X
    return X[:, np.arange(n_terms) % X.shape[1]]


def _use_topics(model: Any, X: Any) -> None:
    given = X
    if _is_multimodal(model):
        sides = {s.name: s for s in getattr(model, "sides_", ()) if hasattr(s, "name")}
        tags = getattr(sides.get("tags"), "components_", np.empty((0, 4)))
        given = {"words": X, "tags": _of_width(_tags(), tags.shape[1])}
    for known in _known_sides(model):
        mixtures = np.asarray(model.transform(given, **known))
        _check_finite(mixtures)
        if not isinstance(model, topicfold.LSI):
            sums = mixtures.sum(axis=1)
            if (mixtures < 0).any() or not np.allclose(sums, 1, atol=1e-3):
                raise MisreadError("a loaded model gives rows off the simplex")
    for name in ("predict", "predict_proba", "decision_function"):
        if hasattr(model, name):
            _check_finite(getattr(model, name)(given))
    for result in _asked(model, X):
        _check_finite(result)
    if not isinstance(model, topicfold.LSI):
        model.topic_data().records()
        if not _is_multimodal(model):
            _check_finite(model.perplexity(X))
    model.get_feature_names_out()


def _use_further(model: Any, X: Any, path: Path) -> None:
    """Save the model again, and let it learn more."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        model.save(Path(folder, "again"))
    if isinstance(model, topicfold.LSI):
        model.inverse_transform(np.asarray(model.transform(X)))
    if hasattr(model, "partial_fit"):
        # Most models learn at once: theirs is refused.
        with contextlib.suppress(DataError, NotImplementedError):
            model.partial_fit(X)
        _check_finite(model.components_)
    uses = (_use_report, _use_edited, _use_effects)
    chosen = zlib.crc32(path.read_bytes()) % len(uses)
    for number, use in enumerate(uses):
        if number == chosen or path.parent.name != "spoiled":  # a sound one has all
            with contextlib.suppress(DataError):  # some models have none of it
                use(model, X)


def _use_report(model: Any, X: Any) -> None:
    report_html(model.topic_data())


def _use_edited(model: Any, X: Any) -> None:
    edited = merge_topics(split_topic(drop_topics(model, [0]), 1, X), [1, 2])
    _check_finite(edited.transform(X))


def _use_effects(model: Any, X: Any) -> None:
    side = {"side": ["a", "b"] * (N_DOCUMENTS // 2)}
    options: dict[str, Any] = {"X": X, "n_draws": 2, "n_jobs": 1}
    effects = estimate_effect(model, "~ side", side, **options)
    _check_finite([row["estimate"] for row in effects.rows()])


def _use_classifier(model: Any, X: Any) -> None:
    E = None
    if getattr(model, "n_embeddings_", 0):
        E = np.random.default_rng(2).normal(size=(N_DOCUMENTS, 2))
    model.predict(X, embeddings=E)
    shares = model.predict_proba(X, embeddings=E)
    if not np.allclose(shares.sum(axis=1), 1):
        raise MisreadError("a loaded classifier gives probabilities that do not sum")
    _check_finite(model.decision_function(X, embeddings=E))
    found = model.explain(X[[0]], embeddings=None if E is None else E[[0]])
    _check_finite([found.decision, found.direct])
    _check_finite([reason.contribution for reason in found.words])
    model.topic_data().records()
    if model.accuracy_ is not None:
        _check_finite([model.accuracy_.share, model.accuracy_.low])


def _is_multimodal(model: Any) -> bool:
    return isinstance(model, topicfold.MultimodalLDA)


def _known_sides(model: Any) -> Iterator[dict[str, Any]]:
    """Yield what may be known of new documents: nothing, and then each side."""
    yield {}
    given = {"authors": AUTHORS, "features": FEATURES}
    for side in getattr(model, "sides_", None) or ():
        match side.keyword:
            case "response" if side.kind == "classes":
                yield {"response": [side.classes_[0], None] * 6}
            case "response":
                yield {"response": np.arange(12.0)}
            case "labels":
                yield {"labels": [[str(side.classes_[0])], None] * 6}
            case "authors" | "features" as name:
                yield {name: given[name]}
            case "time":
                yield {"time": TIMES}
    if isinstance(model, topicfold.StructuralLDA):
        yield {"prevalence": FEATURES}
        if getattr(model, "content_groups_", None):
            yield {"content": [str(model.content_groups_[0])] * N_DOCUMENTS}


def _asked(model: Any, X: Any) -> Iterator[Any]:
    """Yield numbers that a loaded model answers."""
    words = small_corpus().vocabulary
    if isinstance(model, topicfold.AuthorTopics):
        yield [score for _, score in model.similar_authors("Ann")]
    if isinstance(model, topicfold.RelationalLDA):
        yield model.predict_links([[0, 1], [3, 4]])
        yield model.predict_links([[0, 1], [3, 4]], X)
        yield model.suggest_links(n=3)[1]
        yield model.suggest_links(X, 3)[1]
    if isinstance(model, topicfold.FeatureLDA):
        yield model.expected_topics(FEATURES)
        yield [effect[2:] for effect in model.feature_effects()]
    if isinstance(model, topicfold.SupervisedLDA):
        yield [effect.coefficient for effect in model.topic_effects(words)]
        label = model.classes_[0] if model.kind == "classes" else None
        yield [effect for _, effect in model.word_effects(words, label=label)]
    if isinstance(model, topicfold.MultimodalLDA):
        yield model.transform({"tags": _tags()})
        yield from model.group_components_.values()
    if isinstance(model, topicfold.StructuralLDA):
        for group in getattr(model, "content_groups_", ()):
            yield model.topics_of(group)
    if isinstance(model, topicfold.CorrelatedLDA):
        yield model.theta_draws(2)
        yield model.theta_draws(2, X=X)
    if isinstance(model, topicfold.DynamicLDA):
        yield model.topics_at(2005)
        yield [word[1:] for word in model.changed_words(0)[0]]
    if isinstance(model, topicfold.TimeStampedLDA):
        yield model.mean_times_
    if isinstance(model, topicfold.TopicTree):
        yield model.paths()
        json.dumps(model.tree_)
        model.tree_text(words)
    if isinstance(model, topicfold.PachinkoLDA):
        yield model.transform_super(X)


def _check_finite(values: Any) -> None:
    found = np.asarray(values)
    if found.dtype.kind == "f" and not np.isfinite(found).all():
        raise MisreadError("a loaded model gives NaN or infinity")
