# SPDX-License-Identifier: BSD-3-Clause
"""How time and memory grow with the number of documents, in blocks on disk.

    python -m benchmarks.scale generate --documents 1000000 --folder /big/disk
    python -m benchmarks.scale run --documents 1000000 --folder /big/disk --how dask
    python -m benchmarks.scale compare --documents 1000000 --folder /big/disk
    python -m benchmarks.scale report

``run --how`` is one of

- ``memory``: PLSA on a CSR matrix in memory (``--jobs`` threads), the threaded engine;
- ``blocks``: PLSA on the blocks on disk, one process, ``--jobs`` threads;
- ``dask``: PLSA on the same blocks with ``--jobs`` workers of one thread;
- ``online``: online LDA, ``--passes`` passes over the blocks, one process.

Documents are drawn from Zipfian topics and written block by block. A row is the
median pass after the first; memory is the peak of resident memory of all processes
(of memory-mapped files too). Every run is a process of its own and adds its row to
``benchmarks/results/scale.json``; ``report`` writes the tables of ``scale.md``, with
the GPU's from ``gpu.json``.

``compare`` has one thread, two threads and two Dask workers of one thread take passes
in turn over the same documents, so that a machine that changes its speed changes it
for all. A round that others disturbed (more than `DISTURBED` of the processors'
time, the hypervisor's included) does not count.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.scale_report import RESULTS, report
from topicfold import LDA, PLSA
from topicfold.corpus.blocks import BLOCK_SIZE, BlockMatrix, BlockWriter
from topicfold.engine import make_engine
from topicfold.learn import Callback, Resume
from topicfold.learn.learner import Learner
from topicfold.parts.steps import PhiStep, ThetaStep

N_TERMS = 50_000
N_TOPICS = 20
MEAN_TOKENS = 84  # about 78 different words; 64 give 60
TABLE = 2**20
DISTURBED = 0.05


def main() -> None:
    arguments = _arguments()
    if arguments.what == "generate":
        path, size = _path(arguments), arguments.block_size
        generate(arguments.documents, path, size, arguments.tokens)
    elif arguments.what == "run":
        row = measure(arguments)
        print(json.dumps(row))
        _add_row(row)
    elif arguments.what == "compare":
        found = compare(arguments)
        print(json.dumps(found))
        _add_comparison(found)
    else:
        text = report(_rows(), N_TERMS, DISTURBED)
        (RESULTS / "scale.md").write_text(text, encoding="utf-8")


@cache
def zipf_table() -> Any:
    """Words in the places of a table by their shares: drawing is looking up."""
    weights = 1.0 / (np.arange(N_TERMS) + 2.7)
    shares = np.cumsum(weights / weights.sum())
    places = np.searchsorted(shares, (np.arange(TABLE) + 0.5) / TABLE)
    return places.clip(0, N_TERMS - 1).astype(np.int32)


def draw_block(number: int, rows: int, tokens: int = MEAN_TOKENS) -> sparse.csr_matrix:
    """Draw documents: half of the words Zipfian, half of them so in a topic's order."""
    rng = np.random.default_rng([20261115, number])
    lengths = np.maximum(rng.poisson(tokens, rows), 1)
    words = zipf_table()[rng.integers(TABLE, size=int(lengths.sum()), dtype=np.int32)]
    topic = np.repeat(rng.integers(N_TOPICS, size=rows), lengths)
    topical = rng.random(len(words)) < 0.5
    words = np.where(topical, (words + topic * (N_TERMS // N_TOPICS)) % N_TERMS, words)
    pointer = np.r_[0, np.cumsum(lengths)]
    block = sparse.csr_matrix(
        (np.ones(len(words), np.float32), words.astype(np.int32), pointer),
        shape=(rows, N_TERMS),
    )
    block.sum_duplicates()
    return block


def generate(documents: int, path: Path, block_size: int, tokens: int) -> None:
    n_blocks = -(-documents // block_size)
    with BlockWriter(path, N_TERMS, overwrite=True) as writer:
        for number in range(n_blocks):
            # Even blocks, as docs/scaling.md advises: workers end together.
            rows = documents * (number + 1) // n_blocks - documents * number // n_blocks
            writer.append(draw_block(number, rows, tokens))


class PassTimes(Callback):
    """Seconds of every pass."""

    def on_start(self, state: Any) -> None:
        self.seconds: list[float] = []
        self._last = time.perf_counter()

    def on_iteration(self, state: Any) -> None:
        now = time.perf_counter()
        self.seconds.append(now - self._last)
        self._last = now
        print(f"pass {state.iteration}: {self.seconds[-1]:.1f} s", flush=True)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    how, jobs, k = arguments.how, arguments.jobs, arguments.topics
    blocks = BlockMatrix.open(_path(arguments), storage=arguments.folder)
    warm_up(k)
    times = PassTimes()
    common = {"tol": 0.0, "random_state": 0, "max_iter": arguments.passes}
    callbacks: list[Any] = [times]
    if arguments.state is not None:
        callbacks.append(Resume(arguments.state))
    began = time.perf_counter()
    if how == "online":
        model = LDA(
            k,
            batch_size=arguments.batch_size,
            n_jobs=jobs,
            callbacks=callbacks,
            **common,
        )
        model.max_doc_updates = arguments.doc_updates
        model.fit(blocks)
        peak = _peak()
    elif how == "dask":
        model, peak = _fit_on_workers(
            blocks, k, jobs, callbacks, common, arguments.memory_limit
        )
    else:
        X = blocks[:] if how == "memory" else blocks
        model = PLSA(k, init="random", n_jobs=jobs, callbacks=callbacks, **common).fit(
            X
        )
        peak = _peak()
    seconds = time.perf_counter() - began
    path = getattr(model.doc_topics_, "filename", None)
    if path is not None:
        Path(path).unlink(missing_ok=True)
    return {
        "how": how,
        "jobs": jobs,
        "documents": blocks.shape[0],
        "nnz": blocks.nnz,
        "terms": blocks.shape[1],
        "topics": k,
        "blocks": blocks.n_blocks,
        "batch_size": arguments.batch_size if how == "online" else None,
        "doc_updates": arguments.doc_updates if how == "online" else None,
        "passes": [round(s, 3) for s in times.seconds],
        "fit_seconds": round(seconds, 2),
        "peak_mib": round(peak / 2**20, 1),
        "history": model.objective_history_,
        "load": arguments.load or round(os.getloadavg()[0], 1),
        "machine": f"{platform.machine()}, {os.cpu_count()} CPU",
    }


def warm_up(n_topics: int) -> None:
    """Compile and load the kernels before anything is timed."""
    X = draw_block(0, 64)
    PLSA(n_topics, max_iter=1).fit(X)
    LDA(n_topics, max_iter=1, batch_size=32).fit(X)


def compare(arguments: argparse.Namespace) -> dict[str, Any]:
    """Let one thread, two threads and two workers take passes in turn."""
    from topicfold.engine.dask import distribute

    k, storage = arguments.topics, arguments.storage
    blocks = BlockMatrix.open(_path(arguments), storage=storage)
    warm_up(k)
    phi = np.random.default_rng(0).dirichlet(np.ones(blocks.shape[1]), k)
    X = blocks[:]
    with _cluster(2, settings=arguments.settings) as client:
        client.run(warm_up, k)
        engines = {
            "one": make_engine(X, k, n_jobs=1),
            "threads": make_engine(X, k, n_jobs=2),
            "dask": make_engine(distribute(blocks), k),
        }
        learners = {
            name: Learner(engine, phi, ThetaStep(), PhiStep())
            for name, engine in engines.items()
        }
        pids = [os.getpid(), *client.run(os.getpid).values()]
        objectives = {name: learner.start() for name, learner in learners.items()}
        rounds: list[dict[str, float]] = []
        began = time.perf_counter()
        # The first round pages memory in.
        while len(rounds) <= arguments.passes:
            rounds.append(_round(learners, pids, objectives))
            print(rounds[-1], flush=True)
            if time.perf_counter() - began > arguments.seconds:
                break
    good = [r for r in rounds[1:] if r["others"] <= DISTURBED]
    median = {n: float(np.median([r[n] for r in good])) for n in learners if good}
    return {
        "documents": blocks.shape[0],
        "nnz": blocks.nnz,
        "blocks": blocks.n_blocks,
        "topics": k,
        "storage": "memory" if (storage or "").startswith("/dev/shm") else "disk",
        "settings": arguments.settings,
        "machine": f"{platform.machine()}, {os.cpu_count()} CPU",
        "rounds": rounds[1:],
        "undisturbed": len(good),
        "median": median,
        "objective": objectives,
    }


def _round(
    learners: dict[str, Learner], pids: list[int], objectives: dict[str, float]
) -> dict[str, float]:
    began, busy, own = time.perf_counter(), _busy(), sum(map(_cpu_seconds, pids))
    found = {}
    for name, learner in learners.items():
        last = time.perf_counter()
        objectives[name] = learner.iterate()
        found[name] = round(time.perf_counter() - last, 3)
    everything = (os.cpu_count() or 1) * (time.perf_counter() - began)
    others = _busy() - busy - (sum(map(_cpu_seconds, pids)) - own)
    found["others"] = round(max(others, 0.0) / everything, 3)
    return found


def _busy() -> float:
    """Seconds that the processors have worked, or were taken away from us."""
    stat = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()
    user, nice, system, _, _, irq, softirq, steal = map(int, stat[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def _cpu_seconds(pid: int) -> float:
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2]
    fields = stat.split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _cluster(workers: int, memory_limit: str = "0", settings: str = "ours") -> Any:
    from topicfold.engine.dask import local_client

    options = {"memory_limit": memory_limit}
    if settings == "ours":
        return local_client(workers, **options)
    from distributed import Client

    own = {"threads_per_worker": 1, "dashboard_address": ":0"}
    return Client(n_workers=workers, **own, **options)


def _fit_on_workers(
    blocks: BlockMatrix,
    k: int,
    jobs: int,
    callbacks: list[Any],
    common: dict[str, Any],
    memory_limit: str,
) -> tuple[PLSA, int]:
    from topicfold.engine.dask import distribute

    with _cluster(jobs, memory_limit) as client:
        client.run(warm_up, k)
        corpus = distribute(blocks)
        model = PLSA(k, init="random", callbacks=callbacks, **common).fit(corpus)
        peak = _peak() + sum(client.run(_peak).values())
    return model, peak


def _peak() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _rows() -> list[dict[str, Any]]:
    file = RESULTS / "scale.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []


def _add_row(row: dict[str, Any]) -> None:
    key = ("how", "jobs", "documents", "topics", "blocks")
    rows = [r for r in _rows() if any(r[name] != row[name] for name in key)]
    text = json.dumps([*rows, row], indent=1)
    (RESULTS / "scale.json").write_text(text + "\n", encoding="utf-8")


def _add_comparison(found: dict[str, Any]) -> None:
    """Keep one comparison of each storage for mixtures and settings of Dask."""
    file = RESULTS / "scale_compare.json"
    known = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
    key = ("storage", "settings")
    kept = [other for other in known if any(other[k] != found[k] for k in key)]
    text = json.dumps([*kept, found], indent=1) + "\n"
    file.write_text(text, encoding="utf-8")


def _path(arguments: argparse.Namespace) -> Path:
    return Path(arguments.folder) / f"documents-{arguments.documents}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["generate", "run", "compare", "report"])
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--folder", default=".")
    parser.add_argument("--block-size", type=int, default=BLOCK_SIZE)
    parser.add_argument("--tokens", type=int, default=MEAN_TOKENS)
    parser.add_argument("--how", choices=["memory", "blocks", "dask", "online"])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--topics", type=int, default=32)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=65_536)
    parser.add_argument("--doc-updates", type=int, default=5)
    parser.add_argument("--state", help="folder to go on from after a kill (Resume)")
    parser.add_argument("--memory-limit", default="0", help="of a worker; 0 is none")
    parser.add_argument("--seconds", type=float, default=60, help="of compare")
    parser.add_argument("--storage", help="folder for compare's mixtures")
    parser.add_argument(
        "--settings",
        choices=["ours", "dask"],
        default="ours",
        help="of compare's cluster: local_client's, or Dask's own",
    )
    parser.add_argument("--load", help="what to say of the machine's load")
    return parser.parse_args()


if __name__ == "__main__":
    main()
