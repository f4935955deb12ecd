# SPDX-License-Identifier: BSD-3-Clause
"""tomotopy LDA: collapsed Gibbs sampling, with its default priors."""

from __future__ import annotations

import numpy as np

from benchmarks.peers.adapters.base import Adapter, normalise_rows


class TomotopyLDA(Adapter):
    """``tomotopy.LDAModel``: alpha 0.1 (re-estimated every 10 sweeps), eta 0.01."""

    name = "tomotopy_lda"
    package = "tomotopy"
    import_line = "from tomotopy import LDAModel"
    pass_is = "one Gibbs sweep over all tokens, train(1)"
    default_passes = 200

    def prepare(self, train, n_topics, seed):
        """Add the documents, tokens named by the number of their term.

        Empty documents are left out: tomotopy does not take them.
        """
        import tomotopy

        model = tomotopy.LDAModel(k=n_topics, seed=seed)
        names = np.array([str(term) for term in range(train.shape[1])], dtype=object)
        counts = train.data.astype(np.int64)
        for start, end in zip(train.indptr[:-1], train.indptr[1:], strict=True):
            terms = np.repeat(train.indices[start:end], counts[start:end])
            if terms.size:
                model.add_doc(names[terms].tolist())
        return model, train.shape[1]

    def run(self, data, *, n_topics, threads, seed, max_passes, on_pass):
        """Fit one sweep a pass."""
        model, n_terms = data

        def topics() -> np.ndarray:
            known = np.array([int(name) for name in model.used_vocabs])
            weights = np.zeros((n_topics, n_terms))
            for k in range(n_topics):
                weights[k, known] = model.get_topic_word_dist(k)
            return normalise_rows(weights)

        for _ in range(max_passes):
            model.train(1, workers=threads)
            if on_pass(topics):
                return
