# SPDX-License-Identifier: BSD-3-Clause
"""Documents in two languages: one mixture per document, words of topics in each.

The built-in corpus has one language. Here every other word of it, written backwards, is
a second one; your data have a matrix per language.
"""

import numpy as np

from topicfold import MultimodalLDA
from topicfold.corpus import Corpus, load_docs

corpus = load_docs(subset=["scipy.signal", "scipy.stats", "numpy.linalg"])
X, words = corpus.counts, corpus.vocabulary
here = Corpus(X[:, ::2], words[::2])
there = Corpus(X[:, 1::2], [word[::-1] for word in words[1::2]])
n = corpus.n_documents
learned = np.arange(n) % 3 > 0
both = (here.counts.getnnz(axis=1) > 0) & (there.counts.getnnz(axis=1) > 0)
new = ~learned & both

model = MultimodalLDA(6, random_state=0)
model.fit({"here": here.select(learned), "there": there.select(learned)})
best = model.top_words(4)
for topic in range(6):
    print(topic, ", ".join(best["here"][topic]), "|", ", ".join(best["there"][topic]))

# New documents in either language: the same topics, from other words.
one = model.transform({"here": here.counts[new]}).argmax(axis=1)
other = model.transform({"there": there.counts[new]}).argmax(axis=1)
print(f"{(one == other).mean():.0%} of {new.sum()} have the same main topic in both")
