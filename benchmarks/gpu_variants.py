# SPDX-License-Identifier: BSD-3-Clause
"""Time the kernels in other shapes than the chosen ones: what the choice rests on.

A variant is how many threads share a row (lanes), how many rows a thread has under
way (unroll), how many blocks a multiprocessor is asked to hold, and, for the word
pass, how many bytes of mixtures are in a tile.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import cupy

from benchmarks.gpu_corpus import draw_corpus
from benchmarks.gpu_timing import milliseconds, random_state
from topicfold.engine.cuda.engine import CudaEngine
from topicfold.engine.cuda.layout import TILE_BYTES
from topicfold.engine.cuda.source import MAX_ROW_BYTES, PassShape

CORPUS = "1000000"
TILES = (0, 8 * 2**20, 16 * 2**20, 32 * 2**20, 64 * 2**20)


def shapes(width: int, gathered: int) -> Iterator[tuple[int, int]]:
    """Yield lanes and unroll that a row of so many topics allows without spilling;
    `gathered` are the bytes of a number in rows that are gathered.
    """
    for lanes in (4, 8, 16, 32):
        own = width * 4 // lanes
        if width * gathered % (16 * lanes) or own > MAX_ROW_BYTES:
            continue
        for unroll in (1, 2, 4):
            if own * unroll <= MAX_ROW_BYTES:
                yield lanes, unroll


def time_variants(topics: list[int]) -> list[dict[str, Any]]:
    """Time both passes in every shape, and the word pass with every tile."""
    corpus = draw_corpus(CORPUS)
    rows = []
    for n_topics in topics:
        for row in time_passes(corpus, n_topics):
            rows.append({"documents": corpus.shape[0], "topics": n_topics} | row)
            print(rows[-1], flush=True)
        cupy.get_default_memory_pool().free_all_blocks()
    return rows


def time_passes(corpus: Any, n_topics: int) -> Iterator[dict[str, Any]]:
    engine = CudaEngine(corpus, n_topics)
    theta, packed = random_state(engine)
    counts, words = cupy.empty_like(theta), cupy.empty_like(packed)
    engine.document_pass(theta, packed, out=counts)
    chosen = engine._shape()

    def document_ms(spread: PassShape) -> float:
        engine._shape = lambda: replace(chosen, documents=spread)
        return milliseconds(lambda: engine.document_pass(theta, packed, out=counts))

    def word_ms(spread: PassShape, of: CudaEngine = engine) -> float:
        of._shape = lambda: replace(chosen, words=spread)
        of.document_pass(theta, packed, out=counts)
        return milliseconds(lambda: of.word_pass(theta, packed, words))

    for name, spread, time in (
        ("document", chosen.documents, document_ms),
        ("word", chosen.words, word_ms),
    ):
        variants = {
            replace(spread, lanes=lanes, unroll=unroll)
            for lanes, unroll in shapes(chosen.width, 2 if chosen.half else 4)
        } | {replace(spread, blocks=blocks) for blocks in (1, 4, 6, 8)}
        for variant in sorted(variants, key=lambda v: (v.lanes, v.unroll, v.blocks)):
            yield {
                "pass": name,
                "lanes": variant.lanes,
                "unroll": variant.unroll,
                "blocks": variant.blocks,
                "tile_bytes": TILE_BYTES if name == "word" else None,
                "ms": time(variant),
                "chosen": variant == spread,
            }
    del engine._words
    for tile in TILES:
        if tile != TILE_BYTES:
            other = CudaEngine(corpus, n_topics, tile_bytes=tile)
            yield {
                "pass": "word",
                "lanes": chosen.words.lanes,
                "unroll": chosen.words.unroll,
                "blocks": chosen.words.blocks,
                "tile_bytes": tile,
                "ms": word_ms(chosen.words, other),
                "chosen": False,
            }
            del other
