# SPDX-License-Identifier: BSD-3-Clause
"""Three ways to tell a topic model what you know: features, labels, seed words.

The built-in corpus has modules of numpy, scipy and scikit-learn; the package is a
feature of a document, the module its label.
"""

import numpy as np

from topicfold import FeatureLDA, LabeledLDA, SeededLDA
from topicfold.corpus import load_docs

corpus = load_docs(subset=["scipy.signal", "scipy.stats", "numpy.linalg"])
X, words = corpus.counts, np.array(corpus.vocabulary)
modules = np.array(corpus.labels)
packages = [module.split(".")[0] for module in modules]


def top(model, topic, n=5):
    """Return the most probable words of a topic."""
    return ", ".join(words[model.components_[topic].argsort()[::-1][:n]])


model = FeatureLDA(6, random_state=0, max_iter=60)
model.fit(X, features={"package": packages})
effects = [e for e in model.feature_effects() if e.feature == "package=numpy"]
for e in sorted(effects, key=lambda e: e.effect)[-2:]:
    print(f"numpy: topic {e.topic} {e.effect:+.0%}  {top(model, e.topic)}")

known = np.where(np.arange(len(modules)) % 2, modules, "")  # half are not known
labelled = LabeledLDA(random_state=0, max_iter=60).fit(X, known)
right = labelled.predict(X[known == ""]) == modules[known == ""]
print(f"labels: {right.mean():.0%} of the unknown ones found; topics:")
for topic, name in enumerate(labelled.topic_names_):
    print(f"  {name}: {top(labelled, topic)}")

seeds = {"filters": ["filter", "frequency"], "tests": ["hypothesis", "pvalue"]}
seeded = SeededLDA(6, seeds=seeds, vocabulary=words, random_state=0, max_iter=60).fit(X)
for topic, name in enumerate(seeds):
    print(f"seeds of {name}: {top(seeded, topic)}")
