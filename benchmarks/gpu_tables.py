# SPDX-License-Identifier: BSD-3-Clause
"""The page of the GPU benchmarks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from topicfold.engine.cuda.layout import TILE_BYTES


def tables(report: dict[str, Any]) -> str:
    ceiling = report["ceilings"]
    lines = [
        "# The CUDA engine",
        "",
        f"`python -m benchmarks.gpu --growth --streaming --variants` on one "
        f"{report['device']}, CuPy {report['cupy']}, float32. Medians of 5 by device "
        "events.",
        f"Measured ceilings: copy {ceiling['bandwidth'] / 1e12:.2f} TB/s, float32 "
        f"{ceiling['flops'] / 1e12:.1f} TFLOP/s. Floors: the fewest bytes an iteration "
        "must move through device memory over the first, its operations over the "
        "second. `gathered` is what both passes fetch through the caches: rows of "
        "half precision from 2²² non-zeros on, float32 below. `CVB0` is both passes "
        "with the collapsed link: about ten operations per weight, where PLSA has "
        "three.",
        "",
    ]
    if report["earlier"]:
        lines += [f"Of an earlier run: {', '.join(report['earlier'])}.", ""]
    for name, entry in report["corpora"].items():
        lines += [
            f"## {name}: {entry['documents']:,} documents, {entry['terms']:,} terms, "
            f"{entry['nnz']:,} non-zeros (synthetic)",
            "",
            "| K | document pass ms | word pass ms | normalise ms | iteration ms "
            "| 10⁹ nnz/s | bytes floor ms | flops floor ms | gathered TB/s "
            "| CVB0 passes ms | setup s |",
            "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
        ]
        lines += [
            f"| {r['topics']} | {r['document_ms']:.2f} | {r['word_ms']:.2f} "
            f"| {r['normalize_ms']:.2f} | {r['iteration_ms']:.2f} "
            f"| {r['billion_nnz_per_s']:.2f} | {r['bytes_floor_ms']:.2f} "
            f"| {r['flops_floor_ms']:.2f} | {r['gathered_tb_per_s']:.2f} "
            f"| {r['collapsed_ms']:.2f} | {r['setup_s']:.1f} |"
            for r in entry["parts"]
        ]
        if entry["fits"]:
            lines += ["", "| fit | K | iterations | s |", "|:--|--:|--:|--:|"]
        lines += [
            f"| {f['model']} | {f['topics']} | {f['iterations']} | {f['seconds']:.2f} |"
            for f in entry["fits"]
        ]
        lines.append("")
    if report["precision"]:
        lines += [
            "## Half precision, 1,000,000 documents",
            "",
            "Milliseconds per iteration, objective included, gathering rows of float32 "
            "and of half precision, and the relative difference of the log-likelihood "
            "in the end.",
            "",
            "| model | K | iterations | float32 ms | half ms | difference |",
            "|:--|--:|--:|--:|--:|--:|",
        ]
    lines += [
        f"| {p['model']} | {p['topics']} | {p['iterations']} | {p['float32_ms']:.2f} "
        f"| {p['half_ms']:.2f} | {p['difference']:.1e} |"
        for p in report["precision"]
    ]
    if report["precision"]:
        lines.append("")
    if report["growth"]:
        lines += [
            "## Growth, K = 128",
            "",
            "| documents | non-zeros | iteration ms | 10⁹ nnz/s | device GiB |",
            "|--:|--:|--:|--:|--:|",
        ]
    lines += [
        f"| {g['documents']:,} | {g['nnz']:,} | {g['iteration_ms']:.2f} "
        f"| {g['billion_nnz_per_s']:.2f} | {g['peak_gib']:.1f} |"
        for g in report["growth"]
    ]
    if report["steps"]:
        lines += [
            "",
            "## Other steps, K = 128, 100,000 documents",
            "",
            "| step | ms |",
            "|:--|--:|",
        ]
    lines += [f"| {step['what']} | {step['ms']:.1f} |" for step in report["steps"]]
    lines += streaming_table(report) + variant_tables(report["variants"])
    return "\n".join(lines) + "\n"


def streaming_table(report: dict[str, Any]) -> list[str]:
    """Return the lines about corpora that do not stay on the device."""
    if not report["streaming"]:
        return []
    speed = report["copies"]
    lines = [
        "",
        "## Corpora that do not stay on the GPU (`--streaming`)",
        "",
        f"Page-locked memory to the GPU {speed['to_device'] / 1e9:.1f} GB/s, back "
        f"{speed['to_host'] / 1e9:.1f} GB/s, both at once "
        f"{speed['each_of_both'] / 1e9:.1f} GB/s each (1 GiB, medians of 5). The floor "
        "is the longer of both ways at the speed it has alone. Whole iterations, "
        "objective included; medians of 7. Where blocks stay, computing may "
        "take longer than the copies: the row in which all stay has its time. Mixtures "
        "of a corpus on disk are files.",
        "",
        "| model | documents | K | blocks | that stay | sent GB | fetched GB "
        "| floor ms | iteration ms | ratio | sent GB/s | setup s |",
        "|:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for r in report["streaming"]:
        start = f"| {r['model']} | {r['documents']:,} | {r['topics']} | {r['blocks']} "
        if "floor_ms" not in r:
            lines.append(
                f"{start}| | | | | {r['iteration_ms']:.0f} | | | {r['setup_s']:.1f} |"
            )
            continue
        ratio = f"{r['ratio']:.2f}" if r["floor_ms"] else ""
        lines.append(
            f"{start}| {r['stay']} | {r['sent_bytes'] / 1e9:.2f} "
            f"| {r['fetched_bytes'] / 1e9:.2f} | {r['floor_ms']:.1f} "
            f"| {r['iteration_ms']:.1f} | {ratio} "
            f"| {r['sent_per_s'] / 1e9:.1f} | {r['setup_s']:.1f} |"
        )
    return lines


def variant_tables(rows: list[dict[str, Any]]) -> list[str]:
    """Return the lines about the kernels in other shapes, the chosen ones in bold."""
    if not rows:
        return []
    lines = [
        "",
        f"## Variants of the kernels, {rows[0]['documents']:,} documents "
        "(`--variants`)",
        "",
        "Milliseconds of a pass; bold is what the engine chooses. Lanes are the "
        "threads that share a row, unroll the rows that a thread has under way, blocks "
        "how many a multiprocessor is asked to hold, a tile the mixtures that the "
        "lists of common words are cut by.",
        "",
        "| pass | K | lanes | unroll 1 | unroll 2 | unroll 4 |",
        "|:--|--:|--:|--:|--:|--:|",
    ]
    chosen = [r for r in rows if r["chosen"]]
    for best in chosen:
        own = _alike(rows, best, "pass", "topics", "blocks", "tile_bytes")
        for lanes in sorted({r["lanes"] for r in own}):
            line = [r for r in own if r["lanes"] == lanes]
            start = f"| {best['pass']} | {best['topics']} | {lanes} "
            lines.append(start + _cells(line, "unroll", (1, 2, 4)))
    lines += [
        "",
        "| pass | K | blocks 1 | blocks 4 | blocks 6 | blocks 8 |",
        "|:--|--:|--:|--:|--:|--:|",
    ]
    for best in chosen:
        own = _alike(rows, best, "pass", "topics", "lanes", "unroll", "tile_bytes")
        start = f"| {best['pass']} | {best['topics']} "
        lines.append(start + _cells(own, "blocks", (1, 4, 6, 8)))
    tiles = sorted({r["tile_bytes"] for r in rows if r["pass"] == "word"})
    sizes = [f"{tile // 2**20} MiB" if tile else "no tiles" for tile in tiles]
    lines += [
        "",
        f"| word pass by tile: K | {' | '.join(sizes)} |",
        f"|--:|{'--:|' * len(tiles)}",
    ]
    for best in chosen:
        if best["tile_bytes"] == TILE_BYTES:
            own = _alike(rows, best, "pass", "topics", "lanes", "unroll", "blocks")
            lines.append(f"| {best['topics']} " + _cells(own, "tile_bytes", tiles))
    return lines


def _alike(
    rows: list[dict[str, Any]], best: dict[str, Any], *names: str
) -> list[dict[str, Any]]:
    return [r for r in rows if all(r[name] == best[name] for name in names)]


def _cells(rows: list[dict[str, Any]], name: str, values: Iterable[Any]) -> str:
    found = {r[name]: r for r in rows}
    texts = []
    for value in values:
        text = f"{found[value]['ms']:.2f}" if value in found else ""
        bold = value in found and found[value]["chosen"]
        texts.append(f"**{text}**" if bold else text)
    return f"| {' | '.join(texts)} |"
