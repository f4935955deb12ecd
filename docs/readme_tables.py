# SPDX-License-Identifier: BSD-3-Clause
"""The tables of speed in the README, from the files of measured results.

After measuring again, ``python docs/readme_tables.py`` puts the new numbers between
the README's marks; a test fails until then.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
SWEEPS = 100
NEWS, TDT2 = "20news_rennie_61188", "tdt2_dengcai"
MARKS = "<!-- {0}: made by docs/readme_tables.py -->\n", "<!-- end of {0} -->"

_PASSES = {
    "topicfold_plsa": "topicfold PLSA",
    "topicfold_cvb0": "topicfold LDA, CVB0",
    "topicfold_variational": "topicfold LDA, variational",
    "tomotopy_lda": "tomotopy LDA, one sweep",
    "topica_cvb0": "topica LDA, CVB0, a fifth of its start included",
    "sklearn_nmf": "scikit-learn NMF, KL",
}
_ALL_PEERS = {
    "topicfold_plsa": "topicfold PLSA",
    "topicfold_cvb0": "topicfold LDA, CVB0",
    "topicfold_variational": "topicfold LDA, variational",
    "tomotopy_lda": "tomotopy LDA",
    "sklearn_nmf": "scikit-learn NMF, KL",
    "sklearn_lda_batch": "scikit-learn LDA, batch",
    "gensim_lda": "gensim LdaModel",
    "sklearn_lda_online": "scikit-learn LDA, online",
}
_TARGET = {"topicfold_cvb0": "topicfold LDA, CVB0", "tomotopy_lda": "tomotopy"}


def tables() -> dict[str, str]:
    """Return the README's tables: name → Markdown."""
    return {"passes": _passes(), "target": _target(), "peers": _all_peers()}


def put_in(text: str) -> str:
    """Return the README with its tables made anew."""
    for name, table in tables().items():
        start, end = (mark.format(name) for mark in MARKS)
        before, found, rest = text.partition(start)
        _, closed, after = rest.partition(end)
        if not (found and closed):
            raise ValueError(f"The README has no {start.strip()!r} with its end.")
        text = f"{before}{start}{table}{end}{after}"
    return text


def _rows(file: str) -> list[dict[str, Any]]:
    return list(json.loads((RESULTS / file).read_text(encoding="utf-8"))["rows"])


def _value(rows: list[dict[str, Any]], column: str, **wanted: Any) -> Any:
    for row in rows:
        if all(row[key] == value for key, value in wanted.items()):
            return row.get(column)
    return None


def _shown(value: float | None) -> str:
    """Return two digits that count: 0.030, 1.2, 29."""
    return "" if value is None else f"{value:#.2g}".rstrip(".")


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _passes() -> str:
    rows = _rows("passes.json")
    body = []
    for peer, name in _PASSES.items():
        case = {"corpus": NEWS, "peer": peer}
        seconds = [_value(rows, "seconds_a_pass", k=k, **case) for k in (20, 100)]
        body.append([name, *map(_shown, seconds)])
    return _table(["CPU seconds per pass", "K = 20", "K = 100"], body)


def _target() -> str:
    rows = _rows("target.json")
    cases = [(NEWS, 20), (NEWS, 100), (TDT2, 20), (TDT2, 100)]
    body = []
    for peer, name in _TARGET.items():
        cells = [
            _shown(_value(rows, "seconds_to_target", corpus=corpus, peer=peer, k=k))
            for corpus, k in cases
        ]
        body.append([name, *cells])
    titles = {NEWS: "20 Newsgroups", TDT2: "TDT2"}
    head = [f"{titles[corpus]}, K = {k}" for corpus, k in cases]
    title = f"CPU seconds to tomotopy's perplexity of {SWEEPS} sweeps"
    return _table([title, *head], body)


def _all_peers() -> str:
    rows = _rows("passes_all_peers.json")
    body = []
    for peer, name in _ALL_PEERS.items():
        case = {"corpus": NEWS, "peer": peer, "k": 20}
        quality = _value(rows, "perplexity", **case)
        assert quality is not None, peer
        seconds = _shown(_value(rows, "seconds_a_pass", **case))
        body.append([name, seconds, f"{quality:.0f}"])
    return _table(["K = 20", "CPU seconds per pass", "perplexity after 2 passes"], body)


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(put_in(readme.read_text(encoding="utf-8")), encoding="utf-8")
