# SPDX-License-Identifier: BSD-3-Clause
"""Topics that are brought up to date as documents arrive."""

import numpy as np

from topicfold import LDA, LSI
from topicfold.corpus import load_docs

corpus = load_docs()
order = np.random.default_rng(0).permutation(corpus.n_documents)
held_out, stream = corpus.counts[order[:500]], corpus.counts[order[500:]]

model = LDA(30, algorithm="variational", random_state=0)
for start in range(0, stream.shape[0], 500):
    model.partial_fit(stream[start : start + 500])
    seen = min(start + 500, stream.shape[0])
    print(f"after {seen:5,} documents: perplexity {model.perplexity(held_out):,.0f}")

index = LSI(50, random_state=0).fit(stream[:2000])
index.partial_fit(stream[2000:])
print("latent semantic indexing, updated:", index.transform(held_out).shape)
