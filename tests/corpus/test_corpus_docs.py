# SPDX-License-Identifier: BSD-3-Clause
import logging
import types
import warnings

import numpy as np
import pytest

from topicfold.corpus import builtin, cache_path, load_docs
from topicfold.corpus.builtin import STOP_WORDS, prose
from topicfold.exceptions import DataError
from topicfold.persistence import bundle, write_bundle


@pytest.fixture(scope="module")
def cache_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cache") / "made" / "on demand"


@pytest.fixture(scope="module")
def built(cache_folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOPICFOLD_CACHE", str(cache_folder))
        return load_docs()


@pytest.fixture
def with_cache(built, cache_folder, monkeypatch):
    monkeypatch.setenv("TOPICFOLD_CACHE", str(cache_folder))
    return built


def assert_same(one, other):
    assert one.ids == other.ids
    assert one.labels == other.labels
    assert one.texts == other.texts
    assert one.vocabulary == other.vocabulary
    assert (one.counts != other.counts).nnz == 0


def test_size_and_classes(built):
    assert 3000 < built.n_documents < 5000
    assert 2500 < built.n_terms < 10000
    y, classes = built.encoded_labels()
    assert 25 <= len(classes) <= 45
    assert {
        "scipy.signal",
        "scipy.stats",
        "scipy.sparse.linalg",
        "numpy.linalg",
        "sklearn.cluster",
    } <= set(classes)
    assert np.bincount(y).min() >= 30
    assert built.name == "docs"


def test_documents_are_clean(built):
    assert len(set(built.ids)) == built.n_documents
    assert not STOP_WORDS & set(built.vocabulary)
    assert built.vocabulary == sorted(built.vocabulary)
    assert not any(">>>" in text for text in built.texts)
    assert not any("numpy.numpy" in name for name in built.ids)
    lengths = np.asarray(built.counts.sum(axis=1)).ravel()
    assert np.median(lengths) > 20
    assert (lengths == 0).mean() < 0.01
    name = "scipy.signal.butter"
    row = built.ids.index(name)
    assert built.labels[row] == "scipy.signal"
    assert "filter" in built.texts[row]


def test_cache_gives_the_same_without_building(with_cache, monkeypatch):
    monkeypatch.setattr(builtin, "_build_docs", lambda: pytest.fail("built again"))
    assert_same(load_docs(), with_cache)


def test_subset_and_bounds(with_cache):
    part = load_docs(subset=["scipy.stats", "scipy.signal"], min_df=5, max_df=0.1)
    assert set(part.labels) == {"scipy.signal", "scipy.stats"}
    frequency = np.bincount(part.counts.indices, minlength=part.n_terms)
    assert frequency.min() >= 5
    assert frequency.max() <= 0.1 * part.n_documents
    assert part.n_terms < with_cache.n_terms


def test_subset_of_a_package_and_of_one_class(with_cache):
    whole = load_docs(subset="scipy")
    assert {label.split(".")[0] for label in whole.labels} == {"scipy"}
    assert set(load_docs(subset="scipy.sparse").labels) == {"scipy.sparse"}
    assert "numpy" in load_docs(subset="numpy").labels
    with pytest.raises(DataError, match=r"Did you mean scipy\.signal"):
        load_docs(subset=["scipy.signals"])
    with pytest.raises(DataError, match="min_df=1000 is more than"):
        load_docs(subset="scipy.fft", min_df=1000)


@pytest.fixture
def quick_build(built, monkeypatch):
    """Replace building, which takes seconds, by a small corpus."""
    small = built.select(range(40))
    calls = []

    def build():
        calls.append(1)
        return small

    monkeypatch.setattr(builtin, "_build_docs", build)
    return calls


@pytest.mark.parametrize("damage", ["cut", "flip", "text", "other", "pickle"])
def test_damaged_cache_is_rebuilt(quick_build, tmp_path, monkeypatch, caplog, damage):
    monkeypatch.setenv("TOPICFOLD_CACHE", str(tmp_path))
    good = load_docs(min_df=1)
    (file,) = tmp_path.iterdir()
    raw = file.read_bytes()
    if damage == "cut":
        file.write_bytes(raw[: len(raw) // 2])
    elif damage == "flip":
        middle = len(raw) // 2
        file.write_bytes(raw[:middle] + b"\x00\xff\x00\xff" + raw[middle + 4 :])
    elif damage == "text":
        file.write_text("nothing")
    elif damage == "other":
        write_bundle(file, kind="docs", strings={"ids": ["a"], "vocabulary": []})
    else:
        np.savez(tmp_path / "x.npz", json=np.array([{"a": 1}], dtype=object))
        (tmp_path / "x.npz").rename(file)
    with caplog.at_level(logging.WARNING):
        assert_same(load_docs(min_df=1), good)
    assert "damaged" in caplog.text
    assert len(quick_build) == 2
    assert_same(load_docs(min_df=1), good)
    assert len(quick_build) == 2
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_cache_that_cannot_be_written_is_no_error(quick_build, tmp_path, monkeypatch):
    blocker = tmp_path / "file"
    blocker.write_text("a file where a folder should be")
    monkeypatch.setenv("TOPICFOLD_CACHE", str(blocker))
    assert load_docs(min_df=1).n_documents == 40
    monkeypatch.setattr(builtin, "cache_path", lambda: None)
    assert load_docs(min_df=1).n_documents == 40


def test_failed_write_leaves_nothing(quick_build, tmp_path, monkeypatch):
    monkeypatch.setenv("TOPICFOLD_CACHE", str(tmp_path))

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bundle, "save_file", full)
    assert load_docs(min_df=1).n_documents == 40
    assert list(tmp_path.iterdir()) == []


def test_uncached_touches_no_folder(quick_build, tmp_path, monkeypatch):
    monkeypatch.setenv("TOPICFOLD_CACHE", str(tmp_path / "cache"))
    load_docs(min_df=1, cached=False)
    assert list(tmp_path.iterdir()) == []


def test_cache_path(monkeypatch, tmp_path):
    monkeypatch.setenv("TOPICFOLD_CACHE", str(tmp_path / "own"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_path() == tmp_path / "own"
    monkeypatch.delenv("TOPICFOLD_CACHE")
    assert cache_path() == tmp_path / "xdg" / "topicfold"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_path().parts[-2:] == (".cache", "topicfold")
    assert cache_path().is_absolute()


def test_members_that_warn_or_fail_are_left_out():
    class Trap(types.ModuleType):
        def __getattr__(self, name):
            if name == "old":
                warnings.warn("old", DeprecationWarning, stacklevel=2)
                return print
            raise AttributeError(name)

    module = Trap("trap")
    module.__all__ = ["gone", "good", "old", "_private"]
    module.good = len
    assert [name for name, _ in builtin._members(module)] == ["good"]


def test_docstring_of_the_type_is_not_the_objects():
    assert builtin._docstring(3.14) is None
    assert builtin._docstring(object()) is None
    assert builtin._docstring(len) == len.__doc__


def test_prose():
    text = prose(
        """f(x, /, out=None) -> array

        Filter with :math:`a^2` as in [1]_, see :func:`~scipy.lfilter`.

        .. math::

            \\frac{a}{b}

        Parameters
        ----------
        x : array
            The signal. Read https://example.org/x for more.

        .. versionadded:: 1.0
            With a note.

        Methods
        -------
        rvs(x)

        Notes
        -----
        Keep this.

        >>> f(1)
        2
        more output

        Keep that.

        References
        ----------
        .. [1] Nobody.
        """
    )
    assert " ".join(text.split()) == (
        "Filter with as in , see `~scipy.lfilter`. x : array The signal. Read for "
        "more. Keep this. Keep that."
    )


def test_without_a_home_there_is_no_cache(monkeypatch):
    def homeless():
        raise RuntimeError("no home")

    monkeypatch.delenv("TOPICFOLD_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(builtin.Path, "home", homeless)
    assert cache_path() is None


def test_modules_that_this_version_lacks_are_left_out(monkeypatch):
    modules = {"scipy": "no_such_module fft", "topicfold_nowhere": "."}
    monkeypatch.setattr(builtin, "_MODULES", modules)
    labels = {label for label, _, _ in builtin._walk()}
    assert labels == {"scipy.fft"}


def test_python_without_docstrings_is_told(monkeypatch):
    flags = types.SimpleNamespace(optimize=2)
    monkeypatch.setattr(builtin, "sys", types.SimpleNamespace(flags=flags))
    with pytest.raises(DataError, match="Python runs with -OO"):
        load_docs(cached=False)
