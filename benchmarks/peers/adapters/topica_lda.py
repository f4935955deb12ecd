# SPDX-License-Identifier: BSD-3-Clause
"""topica LDA: collapsed Gibbs sampling or CVB0, with its default priors."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from benchmarks.peers.adapters.base import Adapter, normalise_rows


class TopicaLDA(Adapter):
    """``topica.LDA``, whose sampler is the sparse one.

    A fit is one call that shows its topics at the end alone, so all passes are one lap.
    """

    name = "topica_lda"
    package = "topica"
    import_line = "from topica import LDA"
    pass_is = "one sparse Gibbs sweep; the start is divided among all sweeps"
    default_passes = 1000
    sampler: ClassVar[str] = "sparse"

    def prepare(self, train, n_topics, seed):
        """Make lists of tokens, named by the number of their term."""
        import topica

        names = np.array([str(term) for term in range(train.shape[1])], dtype=object)
        counts = train.data.astype(np.int64)
        documents = []
        for start, end in zip(train.indptr[:-1], train.indptr[1:], strict=True):
            terms = np.repeat(train.indices[start:end], counts[start:end])
            documents.append(names[terms].tolist())
        return topica.Corpus.from_documents(documents), train.shape[1]

    def run(self, data, *, n_topics, threads, seed, max_passes, on_pass):
        """Fit in one call of `max_passes` sweeps."""
        import topica

        corpus, n_terms = data
        # It takes no more topics than words, of which the toy corpus has few.
        n_used = min(n_topics, corpus.num_words)
        model = topica.LDA(n_used, seed=seed, num_threads=threads, sampler=self.sampler)
        # Before each sample of topics there are more sweeps, by default 25.
        sampled = {"num_samples": 1, "sample_interval": 1, "keep_theta_draws": False}
        model.fit(corpus, iters=max_passes - 1, progress=False, **sampled)

        def topics() -> np.ndarray:
            known = np.array([int(name) for name in model.vocabulary])
            weights = np.zeros((n_topics, n_terms))
            weights[:n_used, known] = model.topic_word
            return normalise_rows(weights)

        on_pass(topics, max_passes)


class TopicaCVB0(TopicaLDA):
    """``topica.LDA(sampler="cvb0")``."""

    name = "topica_cvb0"
    pass_is = "one CVB0 iteration; the start is divided among all of them"
    sampler = "cvb0"
