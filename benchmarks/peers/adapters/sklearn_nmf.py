# SPDX-License-Identifier: BSD-3-Clause
"""scikit-learn NMF with the KL loss: PLSA's objective by multiplicative updates."""

from __future__ import annotations

from benchmarks.peers.adapters.base import Adapter, normalise_rows

_CHUNK = 10


class SklearnNMF(Adapter):
    """``non_negative_factorization(solver="mu", beta_loss="kullback-leibler")``.

    Iterations go in chunks: a call evaluates the divergence once, just as scikit-learn
    does every 10 iterations with its default `tol`.
    """

    name = "sklearn_nmf"
    package = "sklearn"
    distribution = "scikit-learn"
    import_line = "from sklearn.decomposition import NMF"
    pass_is = "one multiplicative update of W and of H, random start, float32"
    default_passes = 200

    def run(self, data, *, n_topics, threads, seed, max_passes, on_pass):
        """Fit in warm-started calls: 1 iteration, then 10 at a time."""
        from sklearn.decomposition import non_negative_factorization

        fixed = {
            "n_components": n_topics,
            "solver": "mu",
            "beta_loss": "kullback-leibler",
            "tol": 0.0,
            "random_state": seed,
        }
        w, h, _ = non_negative_factorization(data, init="random", max_iter=1, **fixed)
        done, stop = 1, on_pass(lambda: normalise_rows(h))
        while done < max_passes and not stop:
            n_iter = min(_CHUNK, max_passes - done)
            w, h, _ = non_negative_factorization(
                data, W=w, H=h, init="custom", max_iter=n_iter, **fixed
            )
            done += n_iter
            stop = on_pass(lambda h=h: normalise_rows(h), n_iter)


class SklearnNMF64(SklearnNMF):
    """The same in float64, which is what integer counts become in scikit-learn."""

    name = "sklearn_nmf_float64"
    pass_is = "one multiplicative update of W and of H, random start, float64"

    def run(self, data, **options):
        """Fit on the counts as float64."""
        super().run(data.astype("float64"), **options)
