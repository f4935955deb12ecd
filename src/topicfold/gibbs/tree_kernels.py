# SPDX-License-Identifier: BSD-3-Clause
# mypy: allow-untyped-defs
"""Kernels of the topic tree: paths and levels of documents, one after the other.

A node has counts N_uw of words; `nodes` is (counts (M, V), totals, documents, parent,
level), and a node without documents is free. Node 0 is the root, on every path.
"""

from __future__ import annotations

import math

import numpy as np

from topicfold.core.jit import inline, kernel
from topicfold.gibbs.fixed_topics import stream_key, uniform

# Products of factors are turned into logarithms before they leave this range.
SMALL, LARGE = 1e-200, 1e200


@inline
def log_rise(start, n):
    """Return log start (start + 1) … (start + n − 1)."""
    total = 0.0
    product = 1.0
    for i in range(n):
        product *= start + i
        if product > LARGE or product < SMALL:
            total += math.log(product)
            product = 1.0
    return total + math.log(product)


@kernel
def sweep_tree(order, corpus, state, nodes, priors, seed, sweep, frozen, scratch):
    """Draw path and levels of the documents in `order`, given all others.

    `corpus` is (doc_ptr, words); a document's tokens of one word lie together. `state`
    is (paths (D, L), levels of the tokens). `priors` are α, η and γ. `frozen` leaves
    the paths as they are.
    """
    doc_ptr, words = corpus
    paths, levels = state
    counts, totals, documents, _, _ = nodes
    alpha, eta, _ = priors
    depth = paths.shape[1]
    weights, in_level = np.empty(depth), np.empty(depth, np.int64)
    n_terms = counts.shape[1]
    for d in order:
        begin, end = doc_ptr[d], doc_ptr[d + 1]
        if begin == end:
            continue
        key = stream_key(seed, sweep, d)
        if not frozen:
            for i in range(begin, end):
                u = paths[d, levels[i]]
                counts[u, words[i]] -= 1
                totals[u] -= 1
            for lev in range(depth):
                documents[paths[d, lev]] -= 1
            draw_path(
                d, begin, end, corpus, state, nodes, priors, uniform(key, 0), scratch
            )
            for lev in range(depth):
                documents[paths[d, lev]] += 1
            for i in range(begin, end):
                u = paths[d, levels[i]]
                counts[u, words[i]] += 1
                totals[u] += 1
        for lev in range(depth):
            in_level[lev] = 0
        for i in range(begin, end):
            in_level[levels[i]] += 1
        for i in range(begin, end):
            w = words[i]
            before = levels[i]
            in_level[before] -= 1
            counts[paths[d, before], w] -= 1
            totals[paths[d, before]] -= 1
            mass = 0.0
            for lev in range(depth):
                u = paths[d, lev]
                mass += (
                    (in_level[lev] + alpha)
                    * (counts[u, w] + eta)
                    / (totals[u] + n_terms * eta)
                )
                weights[lev] = mass
            drawn = uniform(key, i - begin + 1) * mass
            after = 0
            while after < depth - 1 and weights[after] <= drawn:
                after += 1
            levels[i] = after
            in_level[after] += 1
            counts[paths[d, after], w] += 1
            totals[paths[d, after]] += 1


@inline
def draw_path(d, begin, end, corpus, state, nodes, priors, u01, scratch):
    """Draw the path of a document that is not counted; make the nodes that are new.

    Candidates are every leaf, and a new branch at every inner node. A path has the
    probability of the nested Chinese restaurant process times that of the document's
    words in the nodes of their levels. Without room for its nodes, a new branch is no
    candidate.
    """
    words = corpus[1]
    paths, levels = state
    counts, totals, documents, parent, level = nodes
    _, eta, gamma = priors
    score, spare = scratch
    n_nodes, n_terms = counts.shape
    depth = paths.shape[1]
    # Words of new nodes, from the level below an inner node to the leaf.
    below = np.zeros(depth + 1)
    tokens = np.zeros(depth, np.int64)
    for i in range(begin, end):
        tokens[levels[i]] += 1
    for lev in range(depth - 1, 0, -1):
        own = 0.0
        seen = 0
        for i in range(begin, end):
            if i > begin and words[i] != words[i - 1]:
                seen = 0
            if levels[i] == lev:
                own += math.log(eta + seen)
                seen += 1
        below[lev] = below[lev + 1] + own - log_rise(n_terms * eta, tokens[lev])
    n_spare = 0
    for u in range(n_nodes - 1, 0, -1):
        if documents[u] == 0:
            spare[n_spare] = u
            n_spare += 1
    score[0] = 0.0
    largest = -np.inf
    for lev in range(depth):
        for u in range(n_nodes):
            if level[u] != lev or (u > 0 and documents[u] == 0):
                continue
            if u > 0:
                p = parent[u]
                found = score[p] + math.log(documents[u] / (documents[p] + gamma))
                product = 1.0
                seen = 0
                for i in range(begin, end):
                    if i > begin and words[i] != words[i - 1]:
                        seen = 0
                    if levels[i] == lev:
                        product *= counts[u, words[i]] + eta + seen
                        seen += 1
                        if product > LARGE or product < SMALL:
                            found += math.log(product)
                            product = 1.0
                found += math.log(product)
                found -= log_rise(totals[u] + n_terms * eta, tokens[lev])
                score[u] = found
            if lev == depth - 1:
                largest = max(largest, score[u])
            elif depth - 1 - lev <= n_spare:
                new = math.log(gamma / (documents[u] + gamma)) + below[lev + 1]
                largest = max(largest, score[u] + new)
    mass = 0.0
    chosen = 0
    for turn in range(2):
        left = u01 * mass
        mass = 0.0
        done = False
        for u in range(n_nodes):
            if done or (u > 0 and documents[u] == 0):
                continue
            lev = level[u]
            if lev == depth - 1:
                mass += math.exp(score[u] - largest)
            elif depth - 1 - lev <= n_spare:
                new = math.log(gamma / (documents[u] + gamma)) + below[lev + 1]
                mass += math.exp(score[u] + new - largest)
            else:
                continue
            if turn == 1:
                chosen = u
                done = mass > left
    u = chosen
    for lev in range(level[chosen], -1, -1):
        paths[d, lev] = u
        u = parent[u]
    for lev in range(level[chosen] + 1, depth):
        n_spare -= 1
        u = spare[n_spare]
        parent[u] = paths[d, lev - 1]
        level[u] = lev
        paths[d, lev] = u


@kernel
def tree_log_words(counts, totals, documents, eta):
    """Return log P(words | levels, paths) of all nodes."""
    n_terms = counts.shape[1]
    total = 0.0
    for u in range(len(totals)):
        if documents[u] == 0:
            continue
        total += math.lgamma(n_terms * eta) - math.lgamma(totals[u] + n_terms * eta)
        for w in range(n_terms):
            n = counts[u, w]
            if n > 20:
                total += math.lgamma(n + eta) - math.lgamma(eta)
            elif n > 0:
                total += log_rise(eta, n)
    return total


@kernel
def merged_gain(counts, totals, eta, a, b):
    """Return what log P(words) gains if two nodes become one."""
    n_terms = counts.shape[1]
    size = n_terms * eta
    gain = math.lgamma(totals[a] + size) + math.lgamma(totals[b] + size)
    gain -= math.lgamma(totals[a] + totals[b] + size) + math.lgamma(size)
    for w in range(n_terms):
        n, m = counts[a, w], counts[b, w]
        if n > 0 and m > 0:
            gain += math.lgamma(n + m + eta) + math.lgamma(eta)
            gain -= math.lgamma(n + eta) + math.lgamma(m + eta)
    return gain


# Updates of a new document's level weights, for each path.
PATH_STEPS = 20


@kernel
def fold_in_paths(first, last, rows, phi, paths, log_prior, alpha, out_theta):
    """Write mixtures over nodes of the documents [first, last).

    For every path, weights of its levels by EM with the prior α; then the mean over
    paths by their probability, log_prior + log-likelihood. `rows` are (indptr, indices,
    data) of the counts, `phi` is (V, nodes).
    """
    indptr, indices, data = rows
    n_paths, depth = paths.shape
    score = np.empty(n_paths)
    shares = np.empty((n_paths, depth))
    theta, found = np.empty(depth), np.empty(depth)
    for d in range(first, last):
        largest = -np.inf
        for p in range(n_paths):
            for lev in range(depth):
                theta[lev] = 1.0 / depth
            for _ in range(PATH_STEPS):
                total = 0.0
                for lev in range(depth):
                    found[lev] = alpha
                for i in range(indptr[d], indptr[d + 1]):
                    w = indices[i]
                    mass = 0.0
                    for lev in range(depth):
                        mass += theta[lev] * phi[w, paths[p, lev]]
                    if mass > 0.0:
                        total += data[i] * math.log(mass)
                        for lev in range(depth):
                            own = theta[lev] * phi[w, paths[p, lev]]
                            found[lev] += data[i] * own / mass
                size = 0.0
                for lev in range(depth):
                    size += found[lev]
                for lev in range(depth):
                    theta[lev] = found[lev] / size
            score[p] = total + log_prior[p]
            largest = max(largest, score[p])
            for lev in range(depth):
                shares[p, lev] = theta[lev]
        size = 0.0
        for p in range(n_paths):
            score[p] = math.exp(score[p] - largest)
        for p in range(n_paths):
            size += score[p]
        for p in range(n_paths):
            for lev in range(depth):
                out_theta[d, paths[p, lev]] += score[p] / size * shares[p, lev]
