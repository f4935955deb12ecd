# SPDX-License-Identifier: BSD-3-Clause
"""Kernels of the logistic normal, serial over a range of documents.

``θ = softmax(η, 0)`` with η ~ N(μ, Σ) of K − 1 numbers: the last topic is the
reference, so that η is ``log θ_k − log θ_K``. With expected counts N of a document of n
tokens, the mode maximises

    f(η) = N·η − n log(1 + Σ e^η) − ½ (η − μ)ᵀ Σ⁻¹ (η − μ)

which is concave. With the words themselves, the curvature at the mode is that of the
marginal likelihood, which a token's unknown topic makes smaller:

    H = Σ⁻¹ + n (diag θ − θθᵀ) − Σ_w x_w (diag p_w − p_w p_wᵀ),   p_wk ∝ θ_k φ_kw

Each kernel names the function of ``tests/logistic_normal_reference.py`` it equals.
"""

from __future__ import annotations

import numpy as np

from topicfold.core.jit import SPACE, kernel, part

# Least share of a topic: its logarithm stays finite in float32 too.
LEAST = 1e-30
# Limits of one Newton step: what is left of the gradient, the longest step in one
# direction, halvings while the value falls.
LEFT, LONGEST, HALVINGS = 0.1, 4.0, 20


@part
def _shares(eta, out):
    """Write softmax(η, 0) and return ``log(1 + Σ e^η)``."""
    n_free = eta.shape[0]
    most = eta.dtype.type(0)
    for k in range(n_free):
        most = max(most, eta[k])
    for k in range(n_free):
        out[k] = np.exp(eta[k] - most)
    out[n_free] = np.exp(-most)
    total = eta.dtype.type(0)
    for k in range(n_free + 1):
        total += out[k]
    scale = eta.dtype.type(1) / total
    for k in range(n_free + 1):
        out[k] *= scale
    return most + np.log(total)


@part
def _dot(one, other):
    total = one.dtype.type(0)
    for k in range(one.shape[0]):
        total += one[k] * other[k]
    return total


@part
def _times(precision, vector, out):
    """Write ``Σ⁻¹ v``: four rows at a time, so that v is read once for them."""
    n_free = vector.shape[0]
    real = vector.dtype.type
    i = 0
    while i + 4 <= n_free:
        one, two = precision[i], precision[i + 1]
        three, four = precision[i + 2], precision[i + 3]
        a, b, c, d = real(0), real(0), real(0), real(0)
        for j in range(n_free):
            a += one[j] * vector[j]
            b += two[j] * vector[j]
            c += three[j] * vector[j]
            d += four[j] * vector[j]
        out[i], out[i + 1], out[i + 2], out[i + 3] = a, b, c, d
        i += 4
    for rest in range(i, n_free):
        out[rest] = _dot(precision[rest], vector)


@part
def _direction(gradient, theta, n, precision, n_gradients, scratch):
    """Write the Newton direction x to scratch[0], and ``Σ⁻¹ x`` to scratch[1].

    Solves ``(Σ⁻¹ + n diag θ − n θθᵀ) x = gradient`` by preconditioned conjugate
    gradients; any number of steps goes upwards.
    """
    real = gradient.dtype.type
    x, weighted, rest, scaled = scratch[0], scratch[1], scratch[2], scratch[3]
    along, image, scale = scratch[4], scratch[5], scratch[6]
    n_free = gradient.shape[0]
    for k in range(n_free):
        x[k] = real(0)
        weighted[k] = real(0)
        rest[k] = gradient[k]
        scale[k] = real(1) / (precision[k, k] + n * theta[k])
        scaled[k] = rest[k] * scale[k]
        along[k] = scaled[k]
    product = _dot(rest, scaled)
    enough = real(LEFT * LEFT) * product
    for _ in range(min(n_gradients, n_free)):
        if not product > enough:
            break
        _times(precision, along, image)
        common = real(0)
        for k in range(n_free):
            common += theta[k] * along[k]
        bend = real(0)
        for k in range(n_free):
            bend += along[k] * (image[k] + n * theta[k] * (along[k] - common))
        step = product / bend
        for k in range(n_free):
            x[k] += step * along[k]
            weighted[k] += step * image[k]
            rest[k] -= step * (image[k] + n * theta[k] * (along[k] - common))
            scaled[k] = rest[k] * scale[k]
        old, product = product, _dot(rest, scaled)
        again = product / old
        for k in range(n_free):
            along[k] = scaled[k] + again * along[k]


@kernel
def mode_rows(start, stop, counts, theta, design, gamma, precision, limits, out):
    """Write mixtures at the modes of documents, some Newton steps from `theta`.

    The means are ``μ = design @ gamma``; `limits` are the most Newton steps, the most
    conjugate gradients of each, and the change of η that ends them. A document's value
    never falls. Arithmetic is that of `precision`. Equals ``modes``.
    """
    n_steps, n_gradients, tol = limits
    real = precision.dtype.type
    n_topics = counts.shape[1]
    n_free = n_topics - 1
    shares = np.empty(n_topics, precision.dtype)
    rows = np.empty((7, n_free + SPACE), precision.dtype)
    own = np.empty((8, n_free + SPACE), precision.dtype)
    scratch = rows[:, :n_free]
    eta = own[0, :n_free]
    difference = own[1, :n_free]
    weighted = own[2, :n_free]
    gradient = own[3, :n_free]
    tried = own[4, :n_free]
    expected = own[5, :n_free]
    mean = own[6, :n_free]
    bent = own[7, :n_free]
    least = real(LEAST)
    for d in range(start, stop):
        n = real(0)
        for k in range(n_topics):
            n += counts[d, k]
        last = np.log(max(real(theta[d, n_free]), least))
        for k in range(n_free):
            mean[k] = real(0)
        for j in range(gamma.shape[0]):
            x = real(design[d, j])
            for k in range(n_free):
                mean[k] += x * gamma[j, k]
        for k in range(n_free):
            expected[k] = counts[d, k]
            eta[k] = np.log(max(real(theta[d, k]), least)) - last
            difference[k] = eta[k] - mean[k]
        _times(precision, difference, weighted)
        value = _dot(expected, eta) - real(0.5) * _dot(difference, weighted)
        value -= n * _shares(eta, shares)
        moved = True
        for _ in range(n_steps):
            for k in range(n_free):
                gradient[k] = expected[k] - n * shares[k] - weighted[k]
            _direction(gradient, shares, n, precision, n_gradients, scratch)
            direction, turned = scratch[0], scratch[1]
            longest = real(1e-30)
            for k in range(n_free):
                longest = max(longest, abs(direction[k]))
            step = min(real(1), real(LONGEST) / longest)
            moved = False
            for _ in range(HALVINGS):
                for k in range(n_free):
                    tried[k] = eta[k] + step * direction[k]
                    difference[k] = tried[k] - mean[k]
                    bent[k] = weighted[k] + step * turned[k]
                new = _dot(expected, tried) - real(0.5) * _dot(difference, bent)
                new -= n * _shares(tried, shares)
                if new >= value:
                    moved = True
                    break
                step *= real(0.5)
            if not moved:
                break
            value = new
            for k in range(n_free):
                eta[k] = tried[k]
                weighted[k] = bent[k]
            if step * longest <= tol:
                break
        if not moved:  # the last that was tried is not where it is
            _shares(eta, shares)
        for k in range(n_topics):
            out[d, k] = max(shares[k], least)


@part
def _curvature(words, counts, topics, theta, plain, precision, p, out):
    """Write H of one document, its lower half, at mixtures `theta`.

    `plain` are the tokens whose topics count as known; those of `words` do not.
    """
    n_topics = theta.shape[0]
    n_free = n_topics - 1
    n = plain
    for i in range(words.shape[0]):
        n += counts[i]
    for i in range(n_free):
        for j in range(i + 1):
            out[i, j] = precision[i, j] - n * theta[i] * theta[j]
        out[i, i] += n * theta[i]
    for w in range(words.shape[0]):
        word = topics[words[w]]
        total = 0.0
        for k in range(n_topics):
            total += theta[k] * word[k]
        scale = 1.0 / max(total, 1e-300)
        for k in range(n_free):
            p[k] = theta[k] * word[k] * scale
        for i in range(n_free):
            own = counts[w] * p[i]
            for j in range(i + 1):
                out[i, j] += own * p[j]
            out[i, i] -= own


@part
def _factor(matrix):
    """Turn the lower half of a matrix into its Cholesky factor, if it has one."""
    size = matrix.shape[0]
    for i in range(size):
        row = matrix[i]
        for j in range(i):
            other = matrix[j]
            total = 0.0
            for k in range(j):
                total += row[k] * other[k]
            row[j] = (row[j] - total) / other[j]
        total = 0.0
        for k in range(i):
            total += row[k] * row[k]
        left = row[i] - total
        if not left > 0.0:
            return False
        row[i] = np.sqrt(left)
    return True


@part
def _factored(words, counts, topics, theta, plain, precision, p, out):
    """Write the Cholesky factor of H; of that with known topics where it has none.

    Away from a mode H need not be positive; with the topics of tokens known it is.
    """
    _curvature(words, counts, topics, theta, plain, precision, p, out)
    if _factor(out):
        return
    for i in range(words.shape[0]):
        plain += counts[i]
    _curvature(words[:0], counts, topics, theta, plain, precision, p, out)
    _factor(out)


@part
def _invert(factor, out):
    """Write the inverse of a lower triangular factor, transposed: rows are columns."""
    size = factor.shape[0]
    for i in range(size):
        row = factor[i]
        for j in range(i):
            own = out[j]
            total = 0.0
            for k in range(j, i):
                total += row[k] * own[k]
            own[i] = -total / row[i]
        out[i, i] = 1.0 / row[i]


@kernel
def covariance_sums(X, plain, topics, theta, precision, out):
    """Add the Laplace covariances of documents to the lower half of `out`.

    X is (indptr, indices, counts) of words, `plain` tokens of each document whose
    topics count as known, `topics` (V, K). Returns ``Σ −½ log|H|``, and the traces of
    ``H − Σ⁻¹`` and of ``n (diag θ − θθᵀ)``. Equals ``covariances``.
    """
    indptr, indices, data = X
    n_topics = theta.shape[1]
    n_free = n_topics - 1
    shares = np.empty(n_topics)
    p = np.empty(n_topics)
    factor = np.empty((n_free, n_free))
    inverse = np.zeros((n_free, n_free))
    value = 0.0
    known = 0.0
    full = 0.0
    for d in range(theta.shape[0]):
        words = indices[indptr[d] : indptr[d + 1]]
        counts = data[indptr[d] : indptr[d + 1]]
        for k in range(n_topics):
            shares[k] = theta[d, k]
        n = plain[d]
        for i in range(words.shape[0]):
            n += counts[i]
        _factored(words, counts, topics, shares, plain[d], precision, p, factor)
        for i in range(n_free):
            own = 0.0
            for k in range(i + 1):
                own += factor[i, k] * factor[i, k]
            known += own - precision[i, i]
            full += n * shares[i] * (1.0 - shares[i])
            value -= np.log(factor[i, i])
        _invert(factor, inverse)
        for i in range(n_free):
            one = inverse[i]
            for j in range(i + 1):
                other = inverse[j]
                total = 0.0
                for k in range(i, n_free):
                    total += one[k] * other[k]
                out[i, j] += total
    return value, known, full


@kernel
def draw_rows(start, stop, X, plain, topics, theta, precision, normal, out):
    """Write draws (draws, documents, K) of mixtures from the Laplace posteriors.

    `normal` (draws, documents, K − 1) are standard normal. Equals ``draws``.
    """
    indptr, indices, data = X
    n_topics = theta.shape[1]
    n_free = n_topics - 1
    shares = np.empty(n_topics)
    p = np.empty(n_topics)
    factor = np.empty((n_free, n_free))
    eta = np.empty(n_free)
    moved = np.empty(n_free)
    for d in range(start, stop):
        words = indices[indptr[d] : indptr[d + 1]]
        counts = data[indptr[d] : indptr[d + 1]]
        for k in range(n_topics):
            shares[k] = max(np.float64(theta[d, k]), LEAST)
        for k in range(n_free):
            eta[k] = np.log(shares[k]) - np.log(shares[n_free])
        _factored(words, counts, topics, shares, plain[d], precision, p, factor)
        for i in range(normal.shape[0]):
            # Lᵀ x = z from the last row up: x has the covariance H⁻¹ = L⁻ᵀ L⁻¹.
            for k in range(n_free):
                moved[k] = normal[i, d, k]
            for k in range(n_free - 1, -1, -1):
                own = moved[k] / factor[k, k]
                moved[k] = own
                for j in range(k):
                    moved[j] -= factor[k, j] * own
            for k in range(n_free):
                moved[k] += eta[k]
            _shares(moved, shares)
            for k in range(n_topics):
                out[i, d, k] = shares[k]
