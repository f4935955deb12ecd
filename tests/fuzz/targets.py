# SPDX-License-Identifier: BSD-3-Clause
"""What is fuzzed: for each kind of file a sound one, how it is spoiled, how it is read.

A target's `use` reads the spoiled file and uses what it read as a user would. It
returns a digest of the content, which `expected` gets by another way where there is
one: another program's reader, or what was written for files that carry checksums.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import gzip
import io
import json
import pickle
import shutil
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import openpyxl
import scipy.io
from fuzz import handed_in, places
from fuzz import mutations as m
from fuzz.forgeries import Forgery, add_attribute, change_size
from fuzz.models import (
    AUTHORS,
    CONTENT,
    FEATURES,
    LINKS,
    LISTS,
    MODELS,
    TIMES,
    MisreadError,
    fitted,
    small_corpus,
    use_model,
)
from safetensors.numpy import save
from scipy import sparse
from sklearn.datasets import load_svmlight_file

import topicfold
from topicfold import corpus as tf_corpus
from topicfold.corpus.blocks import BlockMatrix
from topicfold.evidence import Links, Response
from topicfold.learn import Callback, Resume
from topicfold.persistence.bundle import (
    FORMAT_NAME,
    Bundle,
    _header,
    pack_tensors,
    read_bundle,
)
from topicfold.phi import Seeds
from topicfold.report import report_html
from topicfold.search import TopicIndex
from topicfold.theta import DirichletTheta

Spoil = Callable[[bytes, Random], bytes]


@dataclass(frozen=True)
class Target:
    """A kind of file.

    Attributes
    ----------
    name : str
        For `--targets`.
    write : callable
        Writes a sound file or folder at a path.
    spoil : tuple of callables
        Ways to change the bytes of a file.
    use : callable
        Reads the path and uses the content; returns a digest.
    expected : callable or None
        The digest by another way; raises what it likes if it cannot tell.
    """

    name: str
    write: Callable[[Path], None]
    spoil: tuple[Spoil, ...]
    use: Callable[[Path], Any]
    expected: Callable[[Path], Any] | None = None

    def sound(self, folder: Path) -> Sound:
        """Write the sound file, keep its content, and use it once.

        It is used where spoiled ones are not, because a use may write to it.
        """
        place = folder / "sound" / self.name
        place.parent.mkdir(exist_ok=True)
        self.write(place)
        files = [place] if place.is_file() else sorted(place.rglob("*"))
        content = {
            "" if file == place else str(file.relative_to(place)): file.read_bytes()
            for file in files
            if file.is_file()
        }
        return Sound(content, self.use(place))

    def prepare(self, sound: Sound, folder: Path, seed: int) -> tuple[Path, str]:
        """Write a spoiled copy of the sound file; return its place and the damage."""
        place = folder / "spoiled" / self.name
        if place.is_symlink() or place.is_file():
            place.unlink()
        elif place.is_dir():
            shutil.rmtree(place)
        draw = Random(f"{self.name}:{seed}")
        name = draw.choice(list(sound.files))
        for other, content in sound.files.items():
            if other:
                file = place / other
                file.parent.mkdir(parents=True, exist_ok=True)
                if other != name:
                    file.write_bytes(content)
        file = place / name if name else place
        file.parent.mkdir(exist_ok=True)
        if name and draw.random() < 0.05:
            return place, "missing"
        if draw.random() < 0.02:
            m.spoil_place(file, draw)
            return place, "place"
        content, spoil = sound.files[name], draw.choice(self.spoil)
        try:
            content = spoil(content, draw)
        except (ValueError, KeyError, OSError):  # not a file of that structure
            spoil = m.spoil_bytes
            content = spoil(content, draw)
        file.write_bytes(content)
        damage = spoil.__name__.removeprefix("spoil_")
        if name and file.suffix == ".npy" and draw.random() < 0.8:
            places.seal_state(place, file)
            damage = "sealed"
        return place, damage


@dataclass(frozen=True)
class Sound:
    """The content of a sound file, or of the files of a folder, and its digest."""

    files: dict[str, bytes]
    digest: Any


# What is written


def _write_corpus(suffix: str) -> Callable[[Path], None]:
    return lambda path: (tf_corpus.write(small_corpus(), path, format=suffix), None)[1]


def _write_rows(text: str) -> Callable[[Path], None]:
    return lambda path: (path.write_text(text, encoding="utf-8", newline=""), None)[1]


ROWS = [
    ("d1", "the red fox, and the blue sky", "a", "2001-02-03"),
    ("d2", 'a "quoted" text', "b", "2002"),
    ("d3", "several\nlines of text", "a", ""),
    ("d4", "φίλος and friends; more words", "", "2004-01-01"),
]


def _table(delimiter: str) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=delimiter)
    writer.writerow(["id", "text", "label", "time"])
    writer.writerows(ROWS)
    return stream.getvalue()


JSON_LINES = "".join(
    json.dumps({"id": i, "text": t, "label": c, "time": w}) + "\n"
    for i, t, c, w in ROWS
)


def _write_sheet(path: Path) -> None:
    book = openpyxl.Workbook()
    for row in [("id", "text", "label", "time"), *ROWS]:
        book.active.append(row)
    book.save(path)


def _write_sides(path: Path) -> None:
    rows = [handed_in.SIDE_HEAD, *handed_in.SIDE_ROWS]
    match path.suffix:
        case ".csv":
            with path.open("w", encoding="utf-8", newline="") as stream:
                csv.writer(stream).writerows(rows)
        case ".jsonl":
            lines = [
                json.dumps(dict(zip(rows[0], row, strict=True))) for row in rows[1:]
            ]
            path.write_text("\n".join(lines), encoding="utf-8")
        case _:
            book = openpyxl.Workbook()
            for row in rows:
                book.active.append(row)
            book.save(path)


def _write_data(path: Path) -> None:
    data = small_corpus()
    known = {"labels": data.labels, "doc_ids": data.ids}
    fitted("lda").topic_data(data.vocabulary, **known).save(path)


def _write_model(make: Callable[[], Any]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        model = make()
        model.save(path)

    return write


def _write_index(path: Path) -> None:
    data = small_corpus()
    index = TopicIndex(fitted("plsa"), vocabulary=data.vocabulary, lexical="bm25")
    index.add(data.counts, ids=data.ids).save(path)


def _write_blocks(path: Path) -> None:
    BlockMatrix.write(path, small_corpus().counts.astype(np.float64), block_size=5)


RESUMED: dict[str, Callable[[], Any]] = {
    "state": lambda: topicfold.PLSA(9),
    "state-orthogonal": lambda: topicfold.OrthogonalPLSA(9),
    "state-lda": lambda: topicfold.LDA(9),
    "state-variational": lambda: topicfold.LDA(9, algorithm="variational"),
    "state-batches": lambda: topicfold.LDA(3, batch_size=5),
    "state-fstm": lambda: topicfold.FSTM(3),
    "state-authors": lambda: topicfold.AuthorTopics(3),
    "state-response": lambda: topicfold.LDA(3, sides=[Response(weight=1.0)]),
    "state-features": lambda: topicfold.FeatureLDA(3),
    "state-blocks": lambda: topicfold.LDA(9),
    "state-sides": lambda: topicfold.LDA(9, sides=[Seeds({"a": [0, 1]}), Links()]),
    "state-labels": lambda: topicfold.LabeledLDA(n_background=1),
    "state-correlated": lambda: topicfold.CorrelatedLDA(9),
    "state-structural": lambda: topicfold.StructuralLDA(3),
    "state-dynamic": lambda: topicfold.DynamicLDA(9),
    "state-stamped": lambda: topicfold.TimeStampedLDA(9),
    "state-bursty": lambda: topicfold.BurstyLDA(9),
    "state-pachinko": lambda: topicfold.PachinkoLDA(9),
    "state-steps": lambda: topicfold.PLSA(9, theta_step=DirichletTheta(1.1)),
}
SIDE_DATA: dict[str, dict[str, Any]] = {
    "state-authors": {"authors": AUTHORS},
    "state-response": {"response": np.arange(12.0)},
    "state-features": {"features": FEATURES},
    "state-sides": {"links": LINKS},
    "state-labels": {"labels": LISTS},
    "state-structural": {"prevalence": FEATURES, "content": CONTENT},
    "state-dynamic": {"time": TIMES},
    "state-stamped": {"time": TIMES},
}


class _PowerCut(Callback, Exception):
    """Ends a fit in its third pass."""

    def on_iteration(self, state: Any) -> None:
        if state.iteration == 3:
            raise self


def _write_state(path: Path) -> None:
    with contextlib.suppress(_PowerCut):
        _resume_fit(path, _PowerCut())


def _resume_fit(path: Path, *callbacks: Any) -> Any:
    model = RESUMED[path.name]()
    common = {"max_iter": 5, "random_state": 0, "init": "random", "tol": 0}
    own = {name: common[name] for name in common.keys() & model.get_params().keys()}
    model.set_params(**own, callbacks=[Resume(path), *callbacks])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        in_blocks = path.name == "state-blocks"
        X = places.blocks_beside(path) if in_blocks else small_corpus().counts
        return model.fit(X, **SIDE_DATA.get(path.name, {}))


EDITS = [
    {"action": "rename", "topic": 1, "name": "space"},
    {"action": "merge", "topics": [0, 2], "name": ""},
    {"action": "split", "topic": 0, "n_topics": 2},
]


# How it is spoiled


@functools.lru_cache(maxsize=256)
def _opened(content: bytes) -> tuple[Bundle, bytes]:
    """Return the parts of a bundle, and its JSON to make copies of."""
    with tempfile.TemporaryDirectory() as work:
        file = Path(work, "b.safetensors")
        file.write_bytes(content)
        bundle = read_bundle(file)
    return bundle, pickle.dumps(bundle.meta)


def _forged(forge: Callable[[Forgery, Random], None]) -> Spoil:
    """Return a way to spoil a bundle: change its parts, then seal it again."""

    @functools.wraps(forge)
    def spoil(content: bytes, draw: Random) -> bytes:
        bundle, meta = _opened(content)
        parts = Forgery(dict(bundle.arrays), dict(bundle.strings), pickle.loads(meta))
        forge(parts, draw)
        try:
            tensors = pack_tensors(parts.arrays, parts.strings)
            header = _header(bundle.kind, parts.meta, tensors)
        except topicfold.exceptions.ModelFileError as error:
            raise ValueError("no bundle can hold this") from error
        return save(tensors, {FORMAT_NAME: header})

    return spoil


def change_an_array(parts: Forgery, draw: Random) -> None:
    """Change one array, or leave it out."""
    key = draw.choice(sorted(parts.arrays) or [""])
    if draw.random() < 0.05:
        del parts.arrays[key]
    else:
        parts.arrays[key] = m.spoil_array(parts.arrays[key], draw)


def cut_strings(parts: Forgery, draw: Random) -> None:
    """Cut a list of strings."""
    key = draw.choice(sorted(parts.strings) or [""])
    items = parts.strings[key]
    parts.strings[key] = items[: draw.randrange(len(items) + 1)]


def change_json(parts: Forgery, draw: Random) -> None:
    """Change a value of the JSON."""
    meta = m.spoil_json(parts.meta, draw)
    parts.meta = meta if isinstance(meta, dict) else {"meta": meta}


FORGERIES = (change_size, add_attribute, change_an_array, cut_strings, change_json)


CANNOT = (ValueError, LookupError, TypeError, ArithmeticError, AttributeError)


def change_several(parts: Forgery, draw: Random) -> None:
    """Change two to four things; what cannot be changed any more is left."""
    for _ in range(draw.randrange(2, 5)):
        with contextlib.suppress(*CANNOT):
            draw.choice(FORGERIES)(parts, draw)


def spoil_gzip(content: bytes, draw: Random) -> bytes:
    """Spoil the text inside, or the compressed bytes."""
    if draw.random() < 0.5:
        return m.spoil_bytes(content, draw)
    return gzip.compress(m.spoil_text(gzip.decompress(content), draw), 1)


# How it is read and used


def _matrix_digest(matrix: Any) -> Any:
    matrix = sparse.csr_matrix(matrix)
    if matrix.dtype.char == "g":  # what double precision has no number for is 0
        matrix = matrix.astype(np.float64)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    data = [round(float(v), 9) for v in matrix.data]
    return matrix.shape, matrix.indptr.tolist(), matrix.indices.tolist(), data


def _use_counts(kind: str) -> Callable[[Path], Any]:
    def use(path: Path) -> Any:
        found = tf_corpus.read(path, format=kind)
        if len(found.vocabulary) != found.counts.shape[1]:
            raise MisreadError("vocabulary and counts differ in length")
        if found.counts.shape[0] < 5000 and found.counts.shape[1] < 5000:
            model = topicfold.PLSA(2, init="random", max_iter=1, random_state=0)
            model.fit(found.counts)
            return _matrix_digest(found.counts)
        return None

    return use


def _use_texts(kind: str | None) -> Callable[[Path], Any]:
    def use(path: Path) -> Any:
        found = tf_corpus.read_texts(path, format=kind)
        for part in (found.labels, found.ids, found.times):
            if part is not None and len(part) != len(found.texts):
                raise MisreadError("fields differ in length")
        if found.texts:
            tf_corpus.vectorize(found.texts, min_df=1, max_df=1.0)
        return list(found.texts)

    return use


def _use_index(path: Path) -> Any:
    index = TopicIndex.load(path)
    index.query("word1 word2", n=3)
    return None


def _use_blocks(path: Path) -> Any:
    matrix = BlockMatrix.open(path)
    model = topicfold.PLSA(2, init="random", max_iter=1, random_state=0).fit(matrix)
    if not np.isfinite(model.components_).all():
        raise MisreadError("NaN in topics")
    return model.components_.tolist()


def _use_state(path: Path) -> Any:
    model = _resume_fit(path)
    if not np.isfinite(model.components_).all():
        raise MisreadError("NaN in topics")
    return model.components_.tolist()


def _use_data(path: Path) -> None:
    data = topicfold.TopicData.load(path)
    data.records()
    report_html(data)


# The same by another way


def _mm_by_scipy(path: Path) -> Any:
    matrix = scipy.io.mmread(path, spmatrix=False)
    return _matrix_digest(matrix)


def _svmlight_by_sklearn(path: Path) -> Any:
    if b"\r" in path.read_bytes().replace(b"\r\n", b""):
        raise ValueError("ways of reading these differ")
    X, _ = load_svmlight_file(str(path), zero_based=False)
    return _matrix_digest(X)


def _npz_by_scipy(path: Path) -> Any:
    matrix = sparse.load_npz(path).tocsr()
    matrix.check_format(full_check=True)
    return _matrix_digest(matrix)


def _ldac_by_hand(path: Path) -> Any:
    rows = []
    for line in path.read_bytes().decode("utf-8").split("\n"):
        cells = line.split()
        if not cells:
            continue
        pairs = [cell.split(":") for cell in cells[1:]]
        if int(cells[0]) != len(pairs):
            raise ValueError("count")
        rows.append([(int(w), float(x)) for w, x in pairs])
    entries: dict[tuple[int, int], float] = {}
    for d, row in enumerate(rows):
        for w, x in row:
            entries[d, w] = entries.get((d, w), 0.0) + x
    return sorted((d, w, x) for (d, w), x in entries.items() if x)


def _uci_by_hand(path: Path) -> Any:
    numbers = [int(cell) for cell in path.read_bytes().decode("ascii").split()]
    (n_rows, n_columns, nnz), rest = numbers[:3], numbers[3:]
    if len(rest) != 3 * nnz:
        raise ValueError("count")
    d, w, x = np.array(rest).reshape(-1, 3).T
    return _matrix_digest(sparse.coo_matrix((x, (d - 1, w - 1)), (n_rows, n_columns)))


def _table_by_csv(delimiter: str) -> Callable[[Path], Any]:
    def read(path: Path) -> Any:
        text = path.read_bytes().decode("utf-8")
        if "\0" in text or "\r" in text.replace("\r\n", ""):
            raise ValueError("ways of reading these differ")
        rows = list(
            csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        )
        at = rows[0].index("text")
        return [row[at].replace("\r\n", "\n") for row in rows[1:] if any(row)]

    return read


def _json_lines_by_hand(path: Path) -> Any:
    lines = path.read_bytes().decode("utf-8").split("\n")
    return [json.loads(line)["text"] for line in lines if line.strip()]


def _json_by_hand(path: Path) -> Any:
    values = json.loads(path.read_bytes().decode("utf-8-sig"))
    if not isinstance(values, list) or not values:
        raise ValueError("another form")
    return [value["text"] if isinstance(value, dict) else value for value in values]


TEXT = (m.spoil_text, m.spoil_text, m.spoil_text, m.spoil_bytes)
BUNDLE = (
    *(_forged(change_size),) * 3,
    *(_forged(add_attribute),) * 3,
    *(_forged(change_several),) * 4,
    *(_forged(change_an_array),) * 4,
    *(_forged(cut_strings),),
    *(_forged(change_json),) * 3,
    *(m.spoil_bytes,) * 3,
)
FORGED = {"sealed", *(spoil.__name__ for spoil in BUNDLE[:-1])} - {"spoil_bytes"}
TARGETS = {
    target.name: target
    for target in (
        Target(
            "c.ldac", _write_corpus("ldac"), TEXT, _use_counts("ldac"), _ldac_by_hand
        ),
        Target("c.uci", _write_corpus("uci"), TEXT, _use_counts("uci"), _uci_by_hand),
        Target("c.mtx", _write_corpus("mm"), TEXT, _use_counts("mm"), _mm_by_scipy),
        Target(
            "c.svmlight",
            _write_corpus("svmlight"),
            TEXT,
            _use_counts("svmlight"),
            _svmlight_by_sklearn,
        ),
        Target("c.mallet", _write_corpus("mallet"), TEXT, _use_counts("mallet")),
        Target(
            "c.npz",
            _write_corpus("npz"),
            (m.spoil_npz, m.spoil_npz, m.spoil_bytes),
            _use_counts("npz"),
            _npz_by_scipy,
        ),
        Target(
            "folder",
            _write_corpus("folder"),
            (m.spoil_text, m.spoil_npz, m.spoil_bytes),
            _use_counts("folder"),
        ),
        Target(
            "blocks",
            _write_blocks,
            (m.spoil_npz, m.spoil_json_text, m.spoil_bytes),
            _use_blocks,
        ),
        Target(
            "t.csv",
            _write_rows(_table(",")),
            TEXT,
            _use_texts("csv"),
            _table_by_csv(","),
        ),
        Target(
            "t.tsv",
            _write_rows(_table("\t")),
            TEXT,
            _use_texts("tsv"),
            _table_by_csv("\t"),
        ),
        Target(
            "t.jsonl",
            _write_rows(JSON_LINES),
            (m.spoil_json_lines, *TEXT),
            _use_texts("jsonl"),
            _json_lines_by_hand,
        ),
        Target(
            "t.json",
            _write_rows(json.dumps([json.loads(x) for x in JSON_LINES.splitlines()])),
            (m.spoil_json_text, *TEXT),
            _use_texts("json"),
            _json_by_hand,
        ),
        Target(
            "t.xlsx",
            _write_sheet,
            (m.spoil_zip, m.spoil_zip, m.spoil_bytes),
            _use_texts("xlsx"),
        ),
        Target(
            "t.txt",
            _write_rows("one line\nanother line\nφ\n"),
            TEXT,
            _use_texts("lines"),
        ),
        Target(
            "t.csv.gz",
            lambda path: (path.write_bytes(gzip.compress(_table(",").encode())), None)[
                1
            ],
            (spoil_gzip,),
            _use_texts(None),
        ),
        *(
            Target(
                f"model-{name}.safetensors",
                _write_model(lambda name=name: fitted(name)),
                BUNDLE,
                use_model,
            )
            for name in MODELS
        ),
        Target("index.safetensors", _write_index, BUNDLE, _use_index),
        Target(
            "topics.safetensors", handed_in.write_topics, BUNDLE, handed_in.use_topics
        ),
        Target(
            "data.safetensors",
            _write_data,
            BUNDLE,
            _use_data,
        ),
        *(
            Target(
                name,
                _write_state,
                (*BUNDLE, m.spoil_json_text, m.spoil_npy),
                _use_state,
            )
            for name in RESUMED
        ),
        Target(
            "links.txt",
            _write_rows(handed_in.LINKS),
            TEXT,
            handed_in.use_links,
            handed_in.links_by_hand,
        ),
        Target(
            "weighted.txt",
            _write_rows(handed_in.WEIGHTED),
            TEXT,
            handed_in.use_links,
            handed_in.links_by_hand,
        ),
        Target("beside", places.write_beside, TEXT, places.use_beside),
        Target("texts", places.write_texts, TEXT, _use_texts(None)),
        Target("t.parquet", places.write_parquet, places.TABLE, _use_texts("parquet")),
        Target(
            "t.txt.zst",
            places.write_zst,
            (m.spoil_bytes,),
            _use_texts(None),
            places.zst_by_hand,
        ),
        Target(
            "fits",
            places.write_fits,
            (*BUNDLE, m.spoil_json_text, m.spoil_json_text),
            places.use_fits,
        ),
        Target(
            "vectors.npy",
            places.write_vectors,
            (m.spoil_npy, m.spoil_npy, m.spoil_bytes),
            places.use_vectors,
        ),
        Target("languages.csv", places.write_languages, TEXT, places.use_languages),
        Target(
            "commands.safetensors", places.write_model, BUNDLE, places.use_by_commands
        ),
        Target(
            "seeds.json",
            _write_rows('{"red": ["word1", "word2"], "sky": ["word3"]}'),
            (m.spoil_json_text, m.spoil_text),
            handed_in.use_seeds,
        ),
        Target("seeds.txt", _write_rows(handed_in.SEEDS), TEXT, handed_in.use_seeds),
        Target(
            "questions.csv",
            handed_in.write_questions,
            TEXT,
            handed_in.use_questions,
        ),
        Target(
            "answers.csv", _write_rows(handed_in.ANSWERS), TEXT, handed_in.use_answers
        ),
        Target(
            "results.jsonl",
            handed_in.write_results,
            (m.spoil_json_lines, *TEXT),
            handed_in.use_results,
        ),
        Target("sides.csv", _write_sides, TEXT, handed_in.use_sides("csv")),
        Target(
            "sides.jsonl",
            _write_sides,
            (m.spoil_json_lines, *TEXT),
            handed_in.use_sides("jsonl"),
        ),
        Target(
            "sides.xlsx",
            _write_sides,
            (m.spoil_zip, m.spoil_zip, m.spoil_bytes),
            handed_in.use_sides("xlsx"),
        ),
        Target(
            "edits.json",
            _write_rows(
                json.dumps({"format": "topicfold-edits", "version": 2, "edits": EDITS})
            ),
            (m.spoil_json_text, m.spoil_text),
            handed_in.use_edits,
        ),
    )
}
