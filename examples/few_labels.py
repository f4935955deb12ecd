# SPDX-License-Identifier: BSD-3-Clause
"""Few labels: topics of all documents, a classifier of five documents per class."""

import numpy as np
from sklearn.linear_model import LogisticRegression

from topicfold import PLSA, LocallyConsistentPLSA
from topicfold.corpus import load_docs

LABELS_A_CLASS = 5

corpus = load_docs()
y, classes = corpus.encoded_labels()
rng = np.random.default_rng(0)
known = np.concatenate(
    [
        rng.permutation(np.flatnonzero(y == c))[:LABELS_A_CLASS]
        for c in range(len(classes))
    ]
)
unknown = np.setdiff1d(np.arange(len(y)), known)

# The models see the words of every document, the classifier only few labels.
for model in (
    PLSA(30, random_state=0, n_jobs=-1),
    LocallyConsistentPLSA(30, random_state=0, n_jobs=-1),
):
    features = np.sqrt(model.fit_transform(corpus.counts))
    classifier = LogisticRegression(C=10, max_iter=1000)
    classifier.fit(features[known], y[known])
    accuracy = classifier.score(features[unknown], y[unknown])
    print(f"{type(model).__name__:22s} {accuracy:.1%} of {len(unknown):,} right")
