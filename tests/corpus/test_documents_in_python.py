# SPDX-License-Identifier: BSD-3-Clause
"""Documents as people have them in Python: frames of any library, AnnData, lists."""

from decimal import Decimal
from types import SimpleNamespace
from uuid import UUID

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from topicfold import LDA, Topics
from topicfold.corpus import from_anndata, to_anndata
from topicfold.corpus.inputs import as_documents
from topicfold.exceptions import DataError, DataWarning

TEXTS = ["red fox", "blue fish", ""]
COLUMNS = {"year": [1999, 2001, 2003], "body": TEXTS, "kind": ["land", "sea", None]}


class Capsule:
    """A table that only the Arrow PyCapsule interface can read."""

    def __init__(self, columns):
        pyarrow = pytest.importorskip("pyarrow")
        self._table = pyarrow.table(columns)
        self.columns = list(columns)

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


class Rows:
    """A table with the names that Polars has, and no others."""

    def __init__(self, columns):
        self.columns, self._values = list(columns), columns
        numeric = [np.asarray(v, object)[0].__class__ is int for v in columns.values()]
        self.dtypes = [SimpleNamespace(is_numeric=lambda n=n: n) for n in numeric]

    def select(self, names):
        return Rows({name: self._values[name] for name in names})

    def iter_rows(self):
        return zip(*self._values.values(), strict=True)

    def to_numpy(self):
        return np.column_stack(list(self._values.values()))


class Lazy:
    def __init__(self, columns):
        self._frame = Rows(columns)

    def collect_schema(self):
        return {}

    def collect(self):
        return self._frame


def frame_of(library, columns):
    if library in ("stand-in", "lazy"):
        return {"stand-in": Rows, "lazy": Lazy}[library](columns)
    if library == "capsule":
        return Capsule(columns)
    module = pytest.importorskip(library)
    return module.table(columns) if library == "pyarrow" else module.DataFrame(columns)


LIBRARIES = ["pandas", "polars", "pyarrow", "capsule", "stand-in", "lazy"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_frames_of_every_library(library):
    frame = frame_of(library, COLUMNS)
    found = as_documents(frame, columns={"text": "body", "label": "kind"})
    assert found.texts == TEXTS
    assert found.labels == ["land", "sea", ""]
    assert found.times == ["1999", "2001", "2003"]
    assert as_documents(frame).texts == TEXTS  # body is a usual name
    with pytest.raises(DataError, match=r"no column 'boddy'. Did you mean 'body'"):
        as_documents(frame, columns={"text": "boddy"})
    counts = frame_of(library, {"fox": [1, 0], "fish": [2, 3]})
    found = as_documents(counts)
    assert found.vocabulary == ["fox", "fish"]
    assert_array_equal(found.counts.toarray(), [[1, 2], [0, 3]])


@pytest.mark.parametrize("library", LIBRARIES)
def test_missing_texts_of_a_frame_are_named(library):
    frame = frame_of(library, {"text": ["fox", None]})
    with pytest.raises(
        DataError, match=r"row 1 of the data frame: .*\"text\" is empty"
    ):
        as_documents(frame)


def test_a_frame_of_pandas_with_a_name_twice_and_with_its_own_na():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([["fox", "fish"]], columns=["text", "text"])
    with pytest.raises(DataError, match="the data frame has 2 columns named 'text'"):
        as_documents(frame)
    frame = pandas.DataFrame({"text": ["fox", "fish"], "label": ["x", pandas.NA]})
    assert as_documents(frame.convert_dtypes()).labels == ["x", ""]
    with pytest.raises(DataError, match="has no rows"):
        as_documents(frame[:0])


CELLS = {
    "nullable integers": (["Int64", [1, None, 3]], ["1", "", "3"]),
    "nullable floats": (["Float32", [1.5, None, 3]], ["1.5", "", "3.0"]),
    "nullable truth": (["boolean", [True, None, False]], ["True", "", "False"]),
    "numbers of NumPy": (
        ["object", [np.int64(1), np.float32(2.5), np.bool_(1)]],
        ["1", "2.5", "True"],
    ),
    "decimals": (["object", [Decimal("1.5"), None, Decimal(2)]], ["1.5", "", "2"]),
    "months": (["period[M]", ["2001-01", None, "2001-03"]], ["2001-01", "", "2001-03"]),
    "ids": (
        ["object", [UUID(int=1), None, UUID(int=2)]],
        [f"{UUID(int=1)}", "", f"{UUID(int=2)}"],
    ),
}


@pytest.mark.parametrize("kind", CELLS)
def test_values_of_pandas_are_read_whatever_their_type(kind):
    pandas = pytest.importorskip("pandas")
    (dtype, values), expected = CELLS[kind]
    frame = pandas.DataFrame({"text": TEXTS, "v": pandas.Series(values, dtype=dtype)})
    assert as_documents(frame, columns={"label": "v"}).labels == expected
    assert as_documents(frame, columns={"time": "v"}).times == expected
    assert as_documents(frame, columns={"extra": ["v"]}).extra == {"v": expected}


def test_several_values_in_a_cell_are_joined_or_refused():
    pandas = pytest.importorskip("pandas")
    several = [np.array(["Ann", "Bo"], dtype=object), ("Cy",), {"Di", "Ann"}]
    frame = pandas.DataFrame({"text": TEXTS, "by": several, "size": [{"words": 2}] * 3})
    found = as_documents(frame, columns={"extra": ["by"]}).extra
    assert found == {"by": ["Ann; Bo", "Cy", "Ann; Di"]}
    with pytest.raises(DataError, match='row 0: the field "size" is an object'):
        as_documents(frame, columns={"extra": ["by", "size"]})


def test_arrays_of_arrow_are_lists_of_texts():
    pyarrow = pytest.importorskip("pyarrow")
    assert as_documents(pyarrow.array(TEXTS)).texts == TEXTS
    assert as_documents(pyarrow.chunked_array([TEXTS[:1], TEXTS[1:]])).texts == TEXTS


@pytest.mark.slow
def test_topics_learn_from_frames_and_sheets(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    texts = ["red fox wood", "fox wood tree", "blue sea fish", "sea fish wave"] * 3
    frame = frame_of("capsule", {"text": texts, "label": ["a", "a", "b", "b"] * 3})
    topics = Topics(2, min_df=1).fit(frame)
    assert topics.data_.labels[:3] == ("a", "a", "b")
    book = openpyxl.Workbook()
    sheet = book.create_sheet("Data")
    for text in ["text", *texts]:
        sheet.append([text])
    book.save(tmp_path / "t.xlsx")
    again = Topics(2, min_df=1).fit(str(tmp_path / "t.xlsx"), sheet="Data")
    assert_array_equal(again.data_.topics, topics.data_.topics)
    with pytest.raises(DataError, match="sheet applies to an Excel file"):
        Topics(2).fit(texts, sheet="Data")
    with pytest.raises(DataError, match="layer applies to an AnnData object"):
        Topics(2).fit(texts, layer="counts")
    with pytest.raises(DataError, match="format applies to a file"):
        Topics(2).fit(texts, format="csv")
    (tmp_path / "t.txt").write_text("\n".join(["text,n", *(f"{t},1" for t in texts)]))
    with pytest.raises(DataError, match="looks like a table"):
        Topics(2).fit(tmp_path / "t.txt")
    again = Topics(2, min_df=1).fit(tmp_path / "t.txt", format="csv")
    assert_array_equal(again.data_.topics, topics.data_.topics)
    sparse.save_npz(
        tmp_path / "t.npz", sparse.csr_matrix(np.ones((9, 4)) + np.eye(9, 4))
    )
    (tmp_path / "vocab.txt").write_text("a\nb\nc\nd")
    (tmp_path / "t.npz").rename(tmp_path / "t.counts")
    assert Topics(2).fit(tmp_path / "t.counts", format="npz").data_.n_documents == 9


class Cells:
    """The parts of an AnnData object that are used."""

    def __init__(self, X, layers=None, obs=None):
        self.X, self.layers, self.obs, self.var = X, layers or {}, obs or {}, {}
        self.shape = X.shape
        self.obs_names = [f"cell{i}" for i in range(X.shape[0])]
        self.var_names = [f"gene{i}" for i in range(X.shape[1])]
        self.obsm, self.varm = {}, {}


def cells(made, counts, layers=None, obs=None):
    if made == "stand-in":
        return Cells(counts, layers, obs)
    anndata = pytest.importorskip("anndata")
    pandas = pytest.importorskip("pandas")
    names = [f"cell{i}" for i in range(counts.shape[0])]
    found = anndata.AnnData(
        counts,
        obs=pandas.DataFrame(obs or {}, index=names),
        var=pandas.DataFrame(index=[f"gene{i}" for i in range(counts.shape[1])]),
    )
    for name, layer in (layers or {}).items():
        found.layers[name] = layer
    return found


@pytest.fixture
def counts():
    rng = np.random.default_rng(0)
    rates = np.kron([[4.0, 0.2], [0.2, 4.0]], np.ones((15, 6)))
    return sparse.csr_matrix(rng.poisson(rates).astype(np.float32))


@pytest.mark.slow
@pytest.mark.parametrize("made", ["stand-in", "anndata"])
def test_topics_of_cells_go_in_and_out(made, counts):
    kinds = ["b"] * 15 + [None] * 15
    data = cells(made, counts, obs={"kind": kinds, "batch": ["x", "y"] * 15})
    corpus = from_anndata(data, label="kind", extra=["batch"])
    assert corpus.extra == {"batch": ["x", "y"] * 15}
    assert corpus.vocabulary[:2] == ["gene0", "gene1"]
    assert corpus.ids[:2] == ["cell0", "cell1"]
    assert corpus.labels == ["b"] * 15 + [""] * 15
    assert_array_equal(corpus.counts.toarray(), counts.toarray())
    by_batch = Topics(2, model="features").fit(data, features=["batch"])
    assert by_batch.data_.n_documents == 30
    topics = Topics(2).fit(data, label="kind")
    assert topics.data_.doc_ids[1] == "cell1"
    to_anndata(data, topics)
    assert_array_equal(data.obsm["X_topics"], topics.data_.doc_topics)
    assert_array_equal(data.varm["topics"].T, topics.data_.topics)
    main = data.obsm["X_topics"].argmax(axis=1)
    assert len({*main[:15]}) == len({*main[15:]}) == 1
    model = LDA(3, random_state=0).fit(corpus)
    same = LDA(3, random_state=0).fit(data)
    assert_array_equal(same.components_, model.components_)
    assert same.feature_names_in_[0] == "gene0"
    to_anndata(data, model, key="three")
    assert data.obsm["X_three"].shape == (30, 3)
    assert_array_equal(data.varm["three"], model.components_.T)


@pytest.mark.parametrize("made", ["stand-in", "anndata"])
def test_layers_of_cells(made, counts):
    logs = counts.log1p()
    data = cells(made, logs, layers={"counts": counts, "signed": counts - 1.0 * logs})
    assert_array_equal(from_anndata(data).counts.toarray(), counts.toarray())
    with pytest.warns(DataWarning, match="X of the AnnData object holds weights"):
        assert from_anndata(data, layer="X").counts.dtype.kind == "f"
    with pytest.raises(DataError, match=r"no layer 'raw'. Give one of 'X', 'counts'"):
        from_anndata(data, layer="raw")
    data.layers["signed"] = -counts
    with pytest.raises(DataError, match=r"'signed' has .* negative.*layer='counts'"):
        from_anndata(data, layer="signed")
    with pytest.raises(DataError, match=r"obs has no column 'kind'. It has none"):
        from_anndata(data, label="kind")
    with pytest.raises(DataError, match="has counts and no texts"):
        Topics(2).fit(data, text="words")
    found = Topics(2).fit(data, layer="counts")
    assert_array_equal(found.fitted_.counts.toarray(), counts.toarray())


def test_topics_of_other_cells_are_refused(counts):
    model = LDA(2, random_state=0).fit(counts)
    with pytest.raises(DataError, match=r"30 documents and 12 words, .* has 29 cells"):
        to_anndata(Cells(counts[:29]), model)
    with pytest.raises(DataError, match="Got a LDA instead"):
        to_anndata(Cells(counts), LDA(2))
