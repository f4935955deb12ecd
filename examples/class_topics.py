# SPDX-License-Identifier: BSD-3-Clause
"""Which topics set a class apart, and why a document got its class."""

import numpy as np

from topicfold import FSTM, TopicClassifier, TwoPhase
from topicfold.corpus import load_docs

corpus = load_docs()
labels = np.array(corpus.labels)
test = np.arange(corpus.n_documents) % 5 == 0
base = FSTM(60, random_state=0, n_jobs=-1, max_iter=20)
model = TopicClassifier(TwoPhase(base, n_rounds=1))
model.fit(corpus.counts[~test], labels[~test])
right = model.score(corpus.counts[test], labels[test])
print(f"{right:.1%} of {test.sum():,} new documents right")

topics = model.model_
words = topics.topic_data(corpus.vocabulary).top_terms(5)
for c, weights in list(enumerate(topics.class_topic_weights_))[:5]:
    best = int(weights.argmax())
    print(f"{model.classes_[c]:22s} topic {best:2d}: {' '.join(words[best])}")

found = model.predict(corpus.counts[test])
document = int(np.flatnonzero(test)[np.flatnonzero(found == labels[test])[0]])
reasons = model.explain(corpus.counts[[document]])
spoke = [corpus.vocabulary[int(reason.word[1:])] for reason in reasons.words]
print(f"{corpus.ids[document]} is {reasons.label} because of: {', '.join(spoke)}")
