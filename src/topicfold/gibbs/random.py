# SPDX-License-Identifier: BSD-3-Clause
"""Counter-based random numbers: a number is a function of its key and its place.

Splitmix64: the i-th number of a stream is a hash of ``key + i·γ``, so streams need no
state that threads would share, and the seed, the sweep and the document give the same
numbers whoever samples the document, and when.
"""

from __future__ import annotations

from numba import uint64

from topicfold.core.jit import elementwise, kernel

_GAMMA = 0x9E3779B97F4A7C15
_SCALE = 1.0 / (1 << 53)


@elementwise
def mixed(x):
    """Hash 64 bits to 64 bits (the finaliser of splitmix64)."""
    x = uint64(x)
    x = (x ^ (x >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> uint64(27))) * uint64(0x94D049BB133111EB)
    return x ^ (x >> uint64(31))


@elementwise
def stream_key(seed, sweep, document):
    """Return the key of a document's stream in a sweep."""
    key = mixed(uint64(seed) + uint64(_GAMMA))
    key = mixed(key ^ (uint64(sweep) * uint64(0xD1342543DE82EF95)))
    return mixed(key ^ (uint64(document) * uint64(0xAF251AF3B0F025B5)))


@elementwise
def uniform(key, counter):
    """Return number `counter` of a stream: 53 random bits in [0, 1)."""
    bits = mixed(uint64(key) + uint64(counter) * uint64(_GAMMA))
    return float(bits >> uint64(11)) * _SCALE


@kernel
def content_keys(indptr, indices, data, out_keys):
    """Hash each document's words and counts, whatever their order and its row."""
    for d in range(len(indptr) - 1):
        key = uint64(0)
        for i in range(indptr[d], indptr[d + 1]):
            pair = mixed(uint64(indices[i]) + uint64(_GAMMA))
            key += mixed(pair ^ uint64(data[i]))
        out_keys[d] = key
