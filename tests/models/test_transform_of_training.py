# SPDX-License-Identifier: BSD-3-Clause
"""`transform` of training documents gives their mixtures, or it is known why not."""

import numpy as np
import pytest
from scipy import sparse

from topicfold import (
    FSTM,
    LDA,
    PLSA,
    AuthorTopics,
    FeatureLDA,
    GibbsLDA,
    LabeledLDA,
    LaplacianPLSA,
    LocallyConsistentPLSA,
    MultimodalLDA,
    OrthogonalPLSA,
    SeededLDA,
    SupervisedLDA,
)
from topicfold.phi import DirichletPhi
from topicfold.theta import DirichletTheta

N_TOPICS, N_DOCUMENTS = 20, 300
# Mean L1 between rows. CVB0 leaves a document's tokens out of the topics that its
# mixture is made with, which `transform` cannot, as it takes documents to be new.
SAME, OWN_TOKENS = 0.02, 0.08


@pytest.fixture(scope="module")
def planted():
    rng = np.random.default_rng(0)
    phi = rng.dirichlet(np.full(200, 0.05), N_TOPICS)
    theta = rng.dirichlet(np.full(N_TOPICS, 0.1), N_DOCUMENTS)
    X = np.array([rng.multinomial(100, row @ phi) for row in theta])
    known = {
        "authors": [[f"a{d % 30}", f"b{d % 7}"] for d in range(N_DOCUMENTS)],
        "features": rng.normal(size=(N_DOCUMENTS, 2)),
    }
    return sparse.csr_matrix(X, dtype=np.float64), known, theta


LONG = {"random_state": 0, "max_iter": 400, "tol": 1e-7}
CASES = {
    "PLSA": (PLSA(N_TOPICS, **LONG), (), SAME),
    "PLSA, prior": (PLSA(N_TOPICS, theta_step=DirichletTheta(3.0), **LONG), (), SAME),
    "PLSA, φ": (PLSA(N_TOPICS, phi_step=DirichletPhi(1.1), **LONG), (), SAME),
    "OTM": (OrthogonalPLSA(N_TOPICS, **LONG), (), SAME),
    "FSTM": (FSTM(N_TOPICS, random_state=0), (), SAME),
    "LDA": (LDA(N_TOPICS, **LONG), (), OWN_TOKENS),
    # The bound of one document has several maxima where α is small: a fit reaches
    # them along with its topics, `transform` from the uniform mixture.
    "variational": (LDA(N_TOPICS, algorithm="variational", **LONG), (), 0.12),
    "authors": (AuthorTopics(N_TOPICS, **LONG), ("authors",), OWN_TOKENS),
    "strict": (AuthorTopics(N_TOPICS, strict=True, **LONG), ("authors",), SAME),
    "features": (FeatureLDA(N_TOPICS, **LONG), ("features",), OWN_TOKENS),
    "seeds": (SeededLDA(N_TOPICS, seeds={"one": [0, 1]}, **LONG), (), OWN_TOKENS),
    # By sampling: both are means of draws.
    "Gibbs": (GibbsLDA(N_TOPICS, max_iter=200, random_state=0), (), 0.15),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:In these topics their seed words are rarer")
@pytest.mark.parametrize("name", CASES)
def test_new_documents_are_as_training_documents(planted, name):
    model, keywords, most = CASES[name]
    X, data, _ = planted
    known = {keyword: data[keyword] for keyword in keywords}
    model.fit(X, **known)
    gap = np.abs(model.transform(X, **known) - model.doc_topics_).sum(axis=1)
    assert gap.mean() <= most


def test_other_counts_take_part_in_both(planted):
    X, _, theta = planted
    rng = np.random.default_rng(1)
    other = rng.dirichlet(np.full(90, 0.05), N_TOPICS)
    Y = np.array([rng.multinomial(60, row @ other) for row in theta]).astype(float)
    both = {"en": X, "de": sparse.csr_matrix(Y)}
    model = MultimodalLDA(N_TOPICS, **LONG).fit(both)
    gap = np.abs(model.transform(both) - model.doc_topics_).sum(axis=1)
    assert gap.mean() <= OWN_TOKENS


@pytest.mark.parametrize("model", [LaplacianPLSA, LocallyConsistentPLSA])
def test_graph_models_use_the_neighbours_of_new_documents_if_they_may(planted, model):
    X = planted[0]
    plain, near = (
        model(N_TOPICS, transform_neighbors=use, random_state=0).fit(X)
        for use in (False, True)
    )
    gaps = [
        np.abs(m.transform(X) - m.doc_topics_).sum(axis=1).mean() for m in (plain, near)
    ]
    assert gaps[1] < gaps[0]


def test_what_is_to_be_predicted_takes_no_part(planted):
    """A response and labels shape training mixtures, and are not known of new ones."""
    X, _, theta = planted
    y = theta @ np.arange(N_TOPICS)
    model = SupervisedLDA(N_TOPICS, weight=5.0, random_state=0).fit(X, y)
    assert np.array_equal(model.transform(X), model.transform(X[:]))
    labels = [[f"l{int(row.argmax())}"] for row in theta]
    labeled = LabeledLDA(random_state=0).fit(X, labels)
    known = np.abs(labeled.transform(X, labels=labels) - labeled.doc_topics_)
    assert known.sum(axis=1).mean() <= OWN_TOKENS
