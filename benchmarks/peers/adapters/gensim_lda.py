# SPDX-License-Identifier: BSD-3-Clause
"""gensim LdaModel and LdaMulticore with their default priors and chunks.

gensim's step sizes depend on the number of the pass, so a fit is one call with many
passes. It iterates over the corpus once a pass: the corpus object counts those
iterations, which marks the end of every pass for both classes without touching gensim.
"""

from __future__ import annotations

from benchmarks.peers.adapters.base import Adapter, EndOfFit


class GensimLDA(Adapter):
    """``gensim.models.LdaModel``, one process."""

    name = "gensim_lda"
    package = "gensim"
    import_line = "from gensim.models import LdaModel"
    pass_is = "all documents once in chunks of 2000, no perplexity logging"
    default_passes = 1

    def prepare(self, train, n_topics, seed):
        """Convert to gensim's lists of (term, count)."""
        documents = []
        for start, end in zip(train.indptr[:-1], train.indptr[1:], strict=True):
            terms = train.indices[start:end].tolist()
            counts = train.data[start:end].astype(int).tolist()
            documents.append(list(zip(terms, counts, strict=True)))
        return documents, train.shape[1]

    def run(self, data, *, n_topics, threads, seed, max_passes, on_pass):
        """Fit in one ``update`` call of `max_passes` passes."""
        documents, n_terms = data
        model = self._model(
            threads,
            num_topics=n_topics,
            id2word={term: str(term) for term in range(n_terms)},
            passes=max_passes,
            eval_every=None,
            random_state=seed,
        )

        def end_of_pass() -> None:
            if on_pass(model.get_topics):
                raise EndOfFit

        try:
            model.update(_Passes(documents, end_of_pass))
            end_of_pass()
        except EndOfFit:
            return

    def _model(self, threads, **options):
        from gensim.models import LdaModel

        return LdaModel(**options)


class GensimMulticore(GensimLDA):
    """``gensim.models.LdaMulticore`` with `threads` worker processes."""

    name = "gensim_multicore"
    import_line = "from gensim.models import LdaMulticore"
    processes = True

    def starts_processes(self, threads):
        """Its workers are processes, also one alone."""
        return True

    def _model(self, threads, **options):
        from gensim.models import LdaMulticore

        return LdaMulticore(workers=threads, **options)


class _Passes:
    """A list of documents that calls `end_of_pass` before every pass but the first."""

    def __init__(self, documents, end_of_pass):
        self._documents = documents
        self._end_of_pass = end_of_pass
        self._begun = 0

    def __len__(self):
        return len(self._documents)

    def __iter__(self):
        if self._begun:
            self._end_of_pass()
        self._begun += 1
        return iter(self._documents)
