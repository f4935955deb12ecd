# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn LDA, batch and online variational Bayes, through ``partial_fit``.

With step size one (``learning_decay=0``) and one batch of all documents,
``partial_fit`` is the same arithmetic as a batch iteration of ``fit``, bit for bit;
with the default batches it is the same as an online iteration. It leaves out only the
final bound that ``fit`` computes.
"""

from __future__ import annotations

from benchmarks.peers.adapters.base import Adapter, normalise_rows


class SklearnLDABatch(Adapter):
    """``LatentDirichletAllocation(learning_method="batch")``."""

    name = "sklearn_lda_batch"
    package = "sklearn"
    distribution = "scikit-learn"
    import_line = "from sklearn.decomposition import LatentDirichletAllocation"
    pass_is = "one batch EM iteration (up to 100 inner updates per document), float32"
    default_passes = 10
    processes = True

    def run(self, data, *, n_topics, threads, seed, max_passes, on_pass):
        """Fit one ``partial_fit`` a pass."""
        from sklearn.decomposition import LatentDirichletAllocation

        model = LatentDirichletAllocation(
            n_topics, n_jobs=threads, random_state=seed, **self._options(data.shape[0])
        )
        for _ in range(max_passes):
            model.partial_fit(data)
            if on_pass(lambda: normalise_rows(model.components_)):
                return

    def _options(self, n_docs: int) -> dict:
        return {"learning_decay": 0.0, "batch_size": n_docs, "total_samples": n_docs}


class SklearnLDAOnline(SklearnLDABatch):
    """``LatentDirichletAllocation(learning_method="online")``, default batches."""

    name = "sklearn_lda_online"
    pass_is = "all documents once in mini-batches of 128, float32"

    def _options(self, n_docs: int) -> dict:
        return {"learning_method": "online", "total_samples": n_docs}
