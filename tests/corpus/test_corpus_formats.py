# SPDX-License-Identifier: BSD-3-Clause
import contextlib
import dataclasses
import errno
import gzip
import os
import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import io as scipy_io
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from topicfold.corpus import Corpus, read, write
from topicfold.corpus.formats import FORMATS
from topicfold.exceptions import DataError, DataWarning

WHOLE = ("ldac", "uci", "mallet")
FIELDS = ("vocabulary", "labels", "ids", "times", "split")
LINE = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=6)
WORD = LINE.filter(lambda word: word.split() == [word])


@st.composite
def corpora(draw, kind):
    n_rows, n_columns = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    if kind in WHOLE:
        largest = 20 if kind == "mallet" else 2**40
        values = st.integers(0, largest)
    else:
        values = st.one_of(
            st.integers(0, 2**40),
            st.floats(0, 1e300, allow_subnormal=True),
            st.sampled_from([0.1, 1 / 3, 5e-324, 2.0**53, 2.0**60]),
        )
    cells = [[draw(values) for _ in range(n_columns)] for _ in range(n_rows)]
    words = draw(
        st.lists(WORD if kind == "mallet" else LINE, min_size=n_columns, unique=True)
    )

    def column(values):
        return draw(st.none() | st.lists(values, min_size=n_rows, max_size=n_rows))

    numbers = st.just([str(row) for row in range(n_rows)])
    return Corpus(
        counts=np.array(cells),
        vocabulary=words[:n_columns],
        labels=column(LINE | st.sampled_from(["", "0", "1", "-1", "_", "a b", "x"])),
        ids=draw(numbers) if draw(st.booleans()) else column(LINE),
        times=column(LINE),
        split=column(st.sampled_from(["train", "test"])),
    )


def same(corpus, other):
    assert other.counts.shape == corpus.counts.shape
    assert (other.counts != corpus.counts).nnz == 0
    assert other.counts.nnz == corpus.counts.nnz
    for field in FIELDS:
        assert getattr(other, field) == getattr(corpus, field), field


@pytest.mark.parametrize("kind", list(FORMATS))
@settings(max_examples=30)
@given(data=st.data())
def test_round_trip_is_exact(tmp_path_factory, kind, data):
    packed = ".gz" if kind != "npz" and data.draw(st.booleans()) else ""
    corpus = data.draw(corpora(kind))
    folder = tmp_path_factory.mktemp("trip")
    file = write(corpus, folder / f"x.out{packed}", format=kind)
    same(corpus, read(file, format=kind))
    assert not list(folder.glob(".topicfold*"))


@settings(max_examples=15)
@given(corpora("npz"), st.booleans())
def test_round_trip_of_a_folder(tmp_path_factory, corpus, texts):
    if texts:
        corpus = dataclasses.replace(corpus, texts=["a\r\n\ud800"] * corpus.n_documents)
    corpus = dataclasses.replace(corpus, links=[[0, 0]])
    folder = write(corpus, tmp_path_factory.mktemp("trip") / "x", format="folder")
    other = read(folder)
    same(corpus, other)
    assert other.texts == corpus.texts
    assert other.links.tolist() == [[0, 0]]
    assert other.counts.dtype == corpus.counts.dtype


@pytest.fixture
def tiny():
    return Corpus(
        [[2, 0, 1], [0, 0, 0], [0, 3, 0]],
        ["red", "übel", "fox"],
        labels=["x y", "", "z"],
        ids=["a", "b", "c"],
        name="tiny",
    )


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.ldac", "2 0:2 2:1\n0\n1 1:3\n"),
        ("t.uci", "3\n3\n3\n1 1 2\n1 3 1\n3 2 3\n"),
        (
            "t.mtx",
            "%%MatrixMarket matrix coordinate integer general\n%\n3 3 3\n"
            "1 1 2\n1 3 1\n3 2 3\n",
        ),
        ("t.svm", "1 1:2 3:1\n-1\n2 2:3\n"),
        ("t.mallet", "a _ red red fox\nb _\nc _ übel übel übel\n"),
    ],
)
def test_what_is_written(tiny, tmp_path, name, content):
    file = write(tiny, tmp_path / name)
    assert file.read_text(encoding="utf-8") == content
    vocabulary = tmp_path / f"{name}.vocab"
    assert vocabulary.read_text(encoding="utf-8") == "red\nübel\nfox\n"
    other = read(file)
    same(tiny, other)
    assert (other.name, other.counts.dtype) == ("t", np.int32)


def test_others_read_what_we_write(tiny, tmp_path):
    X, y = load_svmlight_file(str(write(tiny, tmp_path / "t.svmlight")), n_features=3)
    assert (tiny.counts != X).nnz == 0
    assert y.tolist() == [1, -1, 2]
    X = scipy_io.mmread(write(tiny, tmp_path / "t.mtx"), spmatrix=False)
    assert X.toarray().tolist() == tiny.counts.toarray().tolist()


def test_we_read_what_others_write(tmp_path):
    X = sparse.random(20, 30, 0.2, format="csr", random_state=0)
    X.data = np.ceil(9 * X.data)
    (tmp_path / "vocab.txt").write_text("".join(f"word{w}\n" for w in range(30)))
    scipy_io.mmwrite(tmp_path / "x.mtx", X)
    sparse.save_npz(tmp_path / "x.npz", X.tocoo())
    for name in ("x.mtx", "x.npz"):
        corpus = read(tmp_path / name)
        assert (corpus.counts != X).nnz == 0
        assert corpus.vocabulary[29] == "word29"


def test_usual_places_and_forms(tmp_path):
    (tmp_path / "vocab.kos.txt").write_text("red\nfox\n")
    with gzip.open(tmp_path / "docword.kos.txt.gz", "wt") as stream:
        stream.write("2\n2\n3\n1 1 1\n1 1 2\n2 2 1\n\n")
    corpus = read(tmp_path / "docword.kos.txt.gz")
    # Repeated entries add up.
    assert corpus.counts.toarray().tolist() == [[3, 0], [0, 1]]
    assert corpus.vocabulary == ["red", "fox"]
    zero = tmp_path / "zero.libsvm"
    zero.write_text("# a comment\n+1 0:1.5 1:2 # more\n\n-1 1:1e-1\n")
    with pytest.warns(DataWarning, match="no vocabulary"):
        corpus = read(tmp_path / "zero.libsvm", format="svmlight")
    assert corpus.counts.toarray().tolist() == [[1.5, 2], [0, 0.1]]
    assert (corpus.vocabulary, corpus.labels) == (["w0", "w1"], ["+1", "-1"])
    (tmp_path / "m.mallet").write_text("d1 land the red fox\nd2 sea The sea\n")
    corpus = read(tmp_path / "m.mallet")
    assert corpus.vocabulary == ["The", "fox", "red", "sea", "the"]
    assert corpus.counts.toarray().tolist() == [[0, 1, 1, 0, 1], [1, 0, 0, 1, 0]]
    assert (corpus.ids, corpus.labels) == (["d1", "d2"], ["land", "sea"])
    pattern = "%%MatrixMarket matrix coordinate pattern general\n% c\n1 2 1\n1 2\n"
    (tmp_path / "p.mtx").write_text(pattern)
    (tmp_path / "p.mtx.vocab").write_text("a\nb\n")
    assert read(tmp_path / "p.mtx").counts.toarray().tolist() == [[0, 1]]


MM = "%%MatrixMarket matrix coordinate integer general\n"
REAL = MM.replace("integer", "real")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.ldac", "", "no documents"),
        ("t.ldac", "0\n0\n", r"t\.ldac has no words"),
        ("t.svmlight", "1\n2\n", r"t\.svmlight has no words"),
        ("t.mallet", "a x\nb y\n", r"t\.mallet has no words"),
        ("t.uci", "1\n0\n0\n", r"t\.uci has no words"),
        ("t.ldac", "1 0:1\n2 0:1\n", "line 2: declares 2 words, but has 1"),
        ("t.ldac", "1 0:1\n1 0:-1\n", "line 2: .* does not have the form"),
        ("t.ldac", "1 0:1_0\n", "line 1: .* does not have the form"),
        ("t.ldac", "1 999999999999:1\n", "would have 1,000,000,000,000 words"),
        ("t.ldac", "2 0:999999999999999999 0:1", None),
        ("t.ldac", "20" + " 0:999999999999999999" * 20, "too large to add up"),
        ("t.uci", "2\nx\n", "line 2: 'x' is not a size"),
        ("t.uci", "2\n", "is not a size"),
        (
            "t.uci",
            "1\n1\n2\n1 1 1\n",
            "t.uci is truncated: it has 1 entries.*1 words and 2 ent",
        ),
        ("t.uci", "1\n1\n1\n1 2 1\n", "line 4: '1 2 1' is outside of the matrix"),
        ("t.uci", "1\n1\n1\n0 1 1\n", "line 4: '0 1 1' is outside of the matrix"),
        ("t.uci", "1\n1\n1\n1 1 1.5\n", "line 4: .* is not document, word and count"),
        ("t.uci", "1\n1\n1\n1 1 -1\n", "line 4"),
        ("t.uci", "1\n1\n1\n1 1\n", "line 4"),
        ("t.uci", "9\n9\n2\n1 1 1\n1 1_1 1\n", "line 5: '1 1_1 1' is not document"),
        ("t.uci", "9999999999999\n1\n1\n1 1 1\n", "would have 9,999,999,999,999 doc"),
        ("t.mtx", "1 1 1\n", "line 1: .* is not a header"),
        ("t.mtx", MM.replace("general", "symmetric"), "is not a header"),
        ("t.mtx", MM + "1 1\n", "line 2: '1 1' is not the three sizes"),
        ("t.mtx", MM + "1 1 1\n1 1 -2\n", "line 3"),
        ("t.mtx", REAL + "1 1 1\n1 1 nan\n", "line 3: '1 1 nan' is not document"),
        ("t.mtx", REAL + "1 1 1\n1 1 1e999\n", "t.mtx has 1 infinite entry"),
        ("t.mtx", REAL + "1 1 1\n1 1 -1.5\n", "t.mtx has 1 negative entry"),
        ("t.mtx", REAL + "1 1 1\n1 1 1.5.5\n", "line 3: '1 1 1.5.5' is not document"),
        ("t.mtx", REAL + "1 1 1\n1 1 1abc\n", "line 3: '1 1 1abc' is not document"),
        ("t.mtx", MM + "1 1 1\n1 1 1e3\n", "line 3: '1 1 1e3' is not document"),
        ("t.mtx", MM + "%\n\n1 1 1\n1 1 1 2\n", "line 5: '1 1 1 2' is not document"),
        ("t.mtx", MM + "1 1 2\n1 1 1 1 1 2\n", "line 3: '1 1 1 1 1 2' is not"),
        ("t.mtx", MM + "1 1 1\n1 1 1\n1 1 1\n", "t.mtx has more than 1 entries"),
        ("t.mtx", MM + f"1 1 {10**17}\n1 1 1\n", "100,000,000,000,000,000 entries"),
        ("t.svm", "1 1:1\n2:1\n", "line 2: .* does not have the form"),
        ("t.svm", "1 qid:3 1:1\n", "line 1"),
        ("t.svm", "1 1:-1\n", "negative"),
        ("t.svm", "1 1:1e999\n", "1 infinite entry"),
        ("t.mallet", "alone\n", "line 1: 'alone' does not have the form"),
        ("t.npz", "no archive", "not a sparse matrix"),
    ],
)
def test_what_cannot_be_read(tmp_path, name, content, message):
    file = tmp_path / name
    file.write_text(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        if message is None:
            assert read(file).counts.sum() == 10**18
            return
        with pytest.raises(DataError, match=message):
            read(file)


def test_side_files_that_do_not_fit(tiny, tmp_path):
    file = write(tiny, tmp_path / "t.mallet")
    (tmp_path / "t.mallet.vocab").write_text("red\n")
    with pytest.raises(DataError, match="line 1: 'fox' is not in its vocabulary"):
        read(file)
    file = write(tiny, tmp_path / "t.mtx")
    (tmp_path / "t.mtx.labels").write_text("x\n")
    with pytest.raises(DataError, match="labels has 1 entries for 3 documents"):
        read(file)
    (tmp_path / "t.mtx.vocab").write_text("red\n")
    with pytest.raises(DataError, match="1 words for 3 columns"):
        read(file)


def test_indices_out_of_bounds_are_no_matrix(tmp_path):
    X = sparse.csr_matrix([[1, 2]])
    X.indices[1] = 99
    sparse.save_npz(tmp_path / "x.npz", X)
    with pytest.raises(DataError, match=r"an entry in column 99 of row 0"):
        read(tmp_path / "x.npz")


@pytest.mark.parametrize(
    ("change", "name", "message"),
    [
        (
            {"counts": [[0.5, 0, 0]] * 3},
            "t.ldac",
            "can only hold whole counts, and 0.5",
        ),
        ({"counts": [[2**60, 0, 0]] * 3}, "t.svm", "cannot hold 1152921504606846976"),
        ({"vocabulary": ["new york", "b", "c"]}, "t.mallet", "'new york'"),
        ({"vocabulary": ["a\nb", "b", "c"]}, "t.mtx", "line break"),
        ({"ids": ["\ud800", "b", "c"]}, "t.mtx", "half of a surrogate pair"),
        ({"ids": ["\ud800", "b", "c"]}, "t.mallet", "half of a surrogate pair"),
        ({}, "t.jsonl", "no texts"),
        ({}, "t.xyz", "does not tell which format"),
        ({}, "t.mtx.zst", "names a compression"),
    ],
)
def test_what_cannot_be_written_leaves_nothing(tiny, tmp_path, change, name, message):
    with pytest.raises(DataError, match=message):
        write(dataclasses.replace(tiny, **change), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (errno.ENOSPC, "No space left on device. Check path, permissions and free"),
        (errno.EFBIG, r"File too large. The system limits .* \(ulimit -f\)"),
    ],
)
def test_full_disk_leaves_nothing(tiny, tmp_path, monkeypatch, number, told):
    def full(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("topicfold.corpus.files.side_bytes", full)
    with pytest.raises(DataError, match=f"cannot be written: {told}"):
        write(tiny, tmp_path / "t.mtx")
    assert list(tmp_path.iterdir()) == []


def test_replacing(tiny, tmp_path):
    file = write(tiny, tmp_path / "t.mtx")
    with pytest.raises(DataError, match=r"t.mtx already exists.*replace=True\."):
        write(tiny, file)
    plain = dataclasses.replace(tiny, labels=None, ids=None)
    write(plain, file, replace=True)
    # Labels of the older file would be taken for this one's.
    same(plain, read(file))
    folder = write(tiny, tmp_path / "t")
    write(plain, folder, replace=True)
    same(plain, read(folder))
    (tmp_path / "photos").mkdir()
    with pytest.raises(DataError, match="already exists"):
        write(tiny, tmp_path / "photos", format="folder", replace=True)


def test_texts_in_and_out(tmp_path):
    file = tmp_path / "in.csv"
    file.write_text("body,stars\nred fox,5\nblue fox,\n")
    corpus = read(file, text="body", label="stars", min_df=1, max_df=1.0)
    assert (corpus.vocabulary, corpus.labels) == (["blue", "fox", "red"], ["5", ""])
    out = write(corpus, tmp_path / "out.jsonl.gz")
    other = read(out, min_df=1, max_df=1.0)
    assert other.texts == ["red fox", "blue fox"]
    same(corpus, other)


def test_options_that_do_not_fit(tiny, tmp_path):
    file = write(tiny, tmp_path / "t.mtx")
    with pytest.raises(DataError, match="holds counts, to which min_df"):
        read(file, min_df=2)
    with pytest.raises(DataError, match="Did you mean 'ldac'"):
        read(file, format="lda-c")
    with pytest.raises(DataError, match="does not exist"):
        read(tmp_path / "no.mtx")
    with pytest.raises(DataError, match="is a folder"):
        read(tmp_path, format="mm")


@pytest.mark.parametrize("kind", list(FORMATS))
@settings(max_examples=40)
@given(data=st.data())
def test_damaged_files_give_a_fitting_matrix_or_our_error(
    tmp_path_factory, tiny_bytes, kind, data
):
    raw = bytearray(tiny_bytes[kind])
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(raw) - 1))
        how = data.draw(st.sampled_from(["set", "cut", "add"]))
        if how == "set":
            raw[place] = data.draw(st.integers(0, 255))
        elif how == "cut":
            del raw[place : place + data.draw(st.integers(1, 8))]
        else:
            raw[place:place] = data.draw(st.binary(min_size=1, max_size=4))
        if not raw:
            break
    file = tmp_path_factory.mktemp("fuzz") / "x"
    file.write_bytes(raw)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        try:
            corpus = read(file, format=kind)
        except DataError:
            return
    # Corpus checks that all fits together; compiled code relies on these.
    corpus.counts.check_format(full_check=True)
    assert (corpus.counts.data > 0).all()
    assert len(corpus.vocabulary) == corpus.n_terms


@pytest.fixture(scope="module")
def tiny_bytes(tmp_path_factory):
    corpus = Corpus([[2, 0, 1], [0, 0, 0], [0, 30, 0]], ["a", "b", "c"])
    folder = tmp_path_factory.mktemp("whole")
    return {
        kind: write(corpus, folder / kind, format=kind).read_bytes() for kind in FORMATS
    }


def test_labels_that_are_whole_numbers_stand_in_the_svmlight_file(tiny, tmp_path):
    numbers = dataclasses.replace(tiny, labels=["3", "-1", "3"])
    file = write(numbers, tmp_path / "t.svm")
    assert [line.split()[0] for line in file.read_text().splitlines()] == [
        "3",
        "-1",
        "3",
    ]
    assert not (tmp_path / "t.svm.labels").exists()
    same(numbers, read(file))


def test_whole_numbers_kept_as_floats_are_counts(tiny, tmp_path):
    floats = dataclasses.replace(tiny, counts=tiny.counts.astype(np.float64))
    file = write(floats, tmp_path / "t.ldac")
    assert file.read_text() == "2 0:2 2:1\n0\n1 1:3\n"


def test_empty_lines_of_a_mallet_file(tmp_path):
    (tmp_path / "m.mallet").write_text("\nd1 land fox fox\n  \nd2 sea owl\n")
    corpus = read(tmp_path / "m.mallet")
    assert corpus.ids == ["d1", "d2"]
    assert corpus.counts.toarray().tolist() == [[2, 0], [0, 1]]


def test_nothing_is_not_written(tiny, tmp_path):
    with pytest.raises(DataError, match="0 documents and 3 words, so there is nothing"):
        write(tiny.select([]), tmp_path / "t.mtx")
    assert list(tmp_path.iterdir()) == []


def test_no_advice_to_unpickle_what_is_no_matrix(tmp_path):
    file = tmp_path / "counts.npz"
    file.write_bytes(b"garbage, not an archive")
    with pytest.raises(
        DataError,
        match=r"counts.npz is not a sparse matrix \(File is not a zip file\)\. Write",
    ):
        read(file)
    np.savez(file, X=np.eye(2))
    with pytest.raises(DataError, match=r"is not a sparse matrix \(.*[^.]\)\. Write"):
        read(file)


def test_gensims_dictionary_names_the_words(tmp_path):
    mm = "%%MatrixMarket matrix coordinate real general\n2 3 3          \n"
    (tmp_path / "news.mm").write_text(mm + "1 1 2.0\n1 3 1\n2 2 1\n")
    (tmp_path / "vocab.txt").write_text("not\nthese\nwords\n")
    (tmp_path / "news.dict").write_text("2\n1\tbell\t1\n0\towl\t1\n2\tthe fox\t1\n")
    corpus = read(tmp_path / "news.mm")
    assert corpus.vocabulary == ["owl", "bell", "the fox"]
    assert corpus.counts.toarray().tolist() == [[2, 0, 1], [0, 1, 0]]
    (tmp_path / "news.dict").write_text("2\n1\tbell\t1\n0\towl\n")
    with pytest.raises(DataError, match=r"news.dict, line 3: '0\\towl' is not a line"):
        read(tmp_path / "news.mm")
    (tmp_path / "news.dict").write_bytes(b"\x80\x04\x95")
    with pytest.raises(DataError, match=r"news.dict is a pickle.*save_as_text"):
        read(tmp_path / "news.mm")


def test_mallets_unknown_label_is_no_class(tiny, tmp_path):
    (tmp_path / "m.mallet").write_text("d1 __unknown__ fox\nd2 sea owl\n")
    assert read(tmp_path / "m.mallet").labels == ["", "sea"]
    (tmp_path / "m.mallet").write_text("d1 __unknown__ fox\nd2 __unknown__ owl\n")
    assert read(tmp_path / "m.mallet").labels is None
    strange = dataclasses.replace(tiny, labels=["__unknown__", "sea", "land"])
    same(strange, read(write(strange, tmp_path / "t.mallet")))


RANDOM = np.random.default_rng(0)


def random_corpus(whole: bool) -> Corpus:
    X = sparse.random(40, 60, 0.2, format="csr", random_state=RANDOM.integers(2**31))
    X.data = RANDOM.lognormal(0, 20, X.nnz)
    if whole:
        X = sparse.csr_matrix(np.ceil(np.minimum(X.toarray(), 2**40)).astype(np.int64))
    return Corpus(X, [f"w{column}" for column in range(60)])


@pytest.mark.parametrize("whole", [True, False])
def test_matrix_market_as_scipy_reads_and_writes_it(tmp_path, whole):
    for _ in range(5):
        corpus = random_corpus(whole)
        written = write(corpus, tmp_path / "a.mtx", replace=True)
        theirs = scipy_io.mmread(written, spmatrix=False)
        assert_array_equal(theirs.toarray(), corpus.counts.toarray())
        scipy_io.mmwrite(tmp_path / "b.mtx", corpus.counts)
        (tmp_path / "b.mtx.vocab").write_text("\n".join(corpus.vocabulary))
        ours = read(tmp_path / "b.mtx")
        assert_array_equal(ours.counts.toarray(), corpus.counts.toarray())


@pytest.mark.parametrize("whole", [True, False])
def test_svmlight_as_scikit_learn_reads_and_writes_it(tmp_path, whole):
    for _ in range(5):
        corpus = random_corpus(whole)
        file = write(corpus, tmp_path / "a.svm", replace=True)
        theirs, _ = load_svmlight_file(str(file), n_features=60, zero_based=False)
        assert_array_equal(theirs.toarray(), corpus.counts.toarray())
        labels = RANDOM.integers(1, 4, 40)
        dump_svmlight_file(
            corpus.counts, labels, str(tmp_path / "b.svm"), zero_based=False
        )
        (tmp_path / "b.svm.vocab").write_text("\n".join(corpus.vocabulary))
        ours = read(tmp_path / "b.svm")
        assert ours.labels == [str(label) for label in labels]
        if whole:
            assert_array_equal(ours.counts.toarray(), corpus.counts.toarray())
        else:  # scikit-learn writes 16 digits
            assert_allclose(ours.counts.toarray(), corpus.counts.toarray(), 1e-15)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia"])
def test_npz_of_every_format_of_scipy(tmp_path, format):
    X = sparse.csr_matrix([[1, 0, 2], [0, 3, 0]]).asformat(format)
    sparse.save_npz(tmp_path / "x.npz", X)
    (tmp_path / "x.npz.vocab").write_text("a\nb\nc\n")
    assert_array_equal(read(tmp_path / "x.npz").counts.toarray(), X.toarray())


def save_raw(file, **change):
    arrays = {
        "format": np.array(b"csr"),
        "shape": np.array([2, 3]),
        "data": np.array([1, 2, 3]),
        "indices": np.array([0, 2, 1]),
        "indptr": np.array([0, 2, 3]),
    }
    np.savez(file, **{**arrays, **change})


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"indptr": np.array([0, 2, -3])}, "row pointers (indptr) that fall at row 1"),
        ({"indptr": np.array([0, 2, 9])}, "end at 9"),
        ({"indices": np.array([0, -1, 1])}, "column -1 of row 0"),
        ({"data": np.array([1, -2, 3])}, "1 negative entry"),
        ({"data": np.array([1, np.nan, 3])}, "1 NaN entry"),
        ({"data": np.array([1, 2j, 3])}, "complex128"),
        ({"shape": np.array([2, 2**61])}, "would have 2,305,843,009,213,693,952 words"),
        ({"shape": np.array(["2", "3"])}, "the shape"),
        ({"format": np.array(b"csc")}, "is not a sparse matrix"),
        ({"format": np.array(b"dia")}, "is not a sparse matrix"),
        ({"format": np.array([1, 2])}, "is not a sparse matrix"),
        (
            {
                "format": np.array(b"coo"),
                "row": np.array([0, 1, 7]),
                "col": np.arange(3),
            },
            "is not a sparse matrix",
        ),
    ],
)
def test_crafted_npz_ends_in_one_sentence(tmp_path, change, problem):
    save_raw(tmp_path / "x.npz", **change)
    with pytest.raises(DataError, match=rf"x\.npz.*{re.escape(problem)}"):
        read(tmp_path / "x.npz")


def test_every_cut_and_flip_of_an_npz_is_our_error_or_the_matrix(tmp_path):
    file = tmp_path / "x.npz"
    save_raw(file)
    (tmp_path / "x.npz.vocab").write_text("a\nb\nc\n")
    whole = file.read_bytes()
    good = read(file).counts.toarray()
    for _ in range(300):
        raw = bytearray(whole)
        if RANDOM.integers(2):
            raw[RANDOM.integers(len(raw))] ^= 1 << RANDOM.integers(8)
        else:
            del raw[RANDOM.integers(len(raw)) :]
        file.write_bytes(raw)
        with contextlib.suppress(DataError):
            assert_array_equal(read(file).counts.toarray(), good)


def test_blank_lines_between_entries_are_no_entries(tmp_path, monkeypatch):
    monkeypatch.setattr("topicfold.corpus.formats.CHUNK", 8)
    file = tmp_path / "t.mtx"
    file.write_text(MM + "2 2 2\n" + "\n" * 30 + "1 1 3\n" + " \n" * 9 + "2 2 1\n\n\n")
    with pytest.warns(DataWarning, match="no vocabulary"):
        assert read(file).counts.toarray().tolist() == [[3, 0], [0, 1]]
    file.write_text(MM + "2 2 2\n1 1 3\n" + "\n" * 9 + "2 3 1\n")
    with pytest.raises(DataError, match="line 13: '2 3 1' is outside of the matrix"):
        read(file)
