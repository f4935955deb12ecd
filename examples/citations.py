# SPDX-License-Identifier: BSD-3-Clause
"""Network PLSA: documents that cite each other have similar topics.

The built-in corpus has links of its own: a docstring that names another one.
"""

import numpy as np

from topicfold import PLSA, LaplacianPLSA
from topicfold.corpus import load_docs

corpus = load_docs()
number = {name.rsplit(".", 1)[-1]: d for d, name in enumerate(corpus.ids)}
links = [
    (d, number[word])
    for d, text in enumerate(corpus.texts)
    for word in {w.strip("`.,:()") for w in text.split()}
    if len(word) > 6 and number.get(word, d) != d
]
print(f"{len(links):,} links between {corpus.n_documents:,} documents")

plain = PLSA(30, random_state=0, n_jobs=-1).fit(corpus.counts)
linked = LaplacianPLSA(30, graph=links, random_state=0, n_jobs=-1).fit(corpus.counts)
first, second = np.array(links).T
for model in (plain, linked):
    theta = model.doc_topics_
    near = np.sqrt(theta[first] * theta[second]).sum(axis=1).mean()
    print(f"{type(model).__name__:14s} overlap of linked documents {near:.2f}")
