# SPDX-License-Identifier: BSD-3-Clause
"""The file format: round trips, every error, whole or not at all."""

import json
import math
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors import safe_open
from safetensors.numpy import save_file

from topicfold.exceptions import ModelFileError
from topicfold.persistence import Bundle, bundle_file, read_bundle, write_bundle
from topicfold.persistence import bundle as bundle_module

few = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
DTYPES = ["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
    ),
    max_leaves=12,
)


def same(a: object, b: object) -> bool:
    """Compare JSON values, NaN equal to NaN, types strictly."""
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or (
            a == b and math.copysign(1, a) == math.copysign(1, b)
        )
    if type(a) is not type(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return a == b


def small(path: Path, **changes) -> Path:
    content = {
        "kind": "demo",
        "arrays": {"a": np.arange(6.0).reshape(2, 3)},
        "strings": {"s": ["ab", "", "ψ"]},
        "meta": {"note": "x"},
    }
    return write_bundle(path, **{**content, **changes})


def write_header(path: Path, header: dict, *, seal: bool = True) -> None:
    """Write a file with a header of one's own and one tensor."""
    if seal:
        text = json.dumps(header, separators=(",", ":"))
        header = {**header, "crc32": zlib.crc32(text.encode())}
    text = json.dumps(header, separators=(",", ":"))
    save_file({"arrays/a": np.zeros(2)}, path, metadata={"topicfold": text})


def header_of(path: Path) -> dict:
    with safe_open(path, framework="np") as stream:
        return json.loads(stream.metadata()["topicfold"])


@given(data=st.data(), dtype=st.sampled_from(DTYPES))
@few
def test_arrays_of_all_dtypes_and_shapes_survive(tmp_path, data, dtype):
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0))
    array = data.draw(hnp.arrays(np.dtype(dtype), shape))
    back = read_bundle(write_bundle(tmp_path, kind="k", arrays={"x": array}))
    assert back.arrays["x"].dtype == array.dtype
    assert back.arrays["x"].shape == array.shape
    assert back.arrays["x"].tobytes() == array.tobytes()


@pytest.mark.parametrize(
    "array",
    [
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(12)[::3],
        np.arange(3, dtype=">i4"),
        np.arange(4.0, dtype=">f4").reshape(2, 2).T,
    ],
)
def test_any_layout_and_byte_order_is_accepted(tmp_path, array):
    back = read_bundle(write_bundle(tmp_path, kind="k", arrays={"x": array})).arrays
    np.testing.assert_array_equal(back["x"], array)
    assert back["x"].flags.c_contiguous
    assert back["x"].flags.writeable


@given(st.lists(st.text() | st.sampled_from(["", "\n", "\0", "a\r\nb", "𝛟", "\ud800"])))
@few
def test_strings_survive(tmp_path, words):
    back = read_bundle(write_bundle(tmp_path, kind="k", strings={"w": words}))
    assert back.strings == {"w": words}


@given(st.dictionaries(st.text(), json_values, max_size=4))
@few
def test_meta_survives(tmp_path, meta):
    back = read_bundle(write_bundle(tmp_path, kind="k", meta=meta)).meta
    assert same(back, meta)


def test_the_json_in_the_file_is_strict(tmp_path):
    meta = {"nan": math.nan, "inf": -math.inf, "own": {"$float": "nan"}}
    file = write_bundle(tmp_path, kind="k", meta=meta)
    with safe_open(file, framework="np") as stream:
        text = stream.metadata()["topicfold"]

    def refuse(name):
        pytest.fail(f"{name} is not JSON")

    assert json.loads(text, parse_constant=refuse)["meta"] == {
        "nan": {"$float": "nan"},
        "inf": {"$float": "-inf"},
        "own": {"$dict": {"$float": "nan"}},
    }


def test_tuples_become_lists_and_numpy_scalars_python(tmp_path):
    meta = {"t": (1, (2,)), "i": np.int32(3), "f": np.float32(0.5), "b": np.True_}
    back = read_bundle(write_bundle(tmp_path, kind="k", meta=meta)).meta
    assert same(back, {"t": [1, [2]], "i": 3, "f": 0.5, "b": True})


def test_all_fields_and_the_order_of_names(tmp_path):
    arrays = {"z": np.ones(1), "a": np.ones(2), "strings/z/utf8": np.ones(3)}
    strings = {"z": ["1"], "a": ["2"], "a/utf8": ["3"], "empty": []}
    file = write_bundle(tmp_path, kind="k", arrays=arrays, strings=strings)
    back = read_bundle(file)
    assert isinstance(back, Bundle)
    assert back.kind == "k"
    assert back.format_version == 1
    assert back.topicfold_version
    assert list(back.arrays) == list(arrays)
    assert back.strings == strings
    assert list(back.strings) == list(strings)


def test_the_same_content_gives_the_same_bytes(tmp_path):
    files = [small(tmp_path / f"{i}.safetensors") for i in range(2)]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_path_is_a_file_or_a_folder(tmp_path):
    assert small(tmp_path / "deep" / "x.safetensors").is_file()
    folder = tmp_path / "deep" / "er"
    assert small(folder) == folder / "model.safetensors" == bundle_file(folder)
    assert read_bundle(folder).kind == read_bundle(str(bundle_file(folder))).kind
    renamed = bundle_file(folder).rename(tmp_path / "renamed.bin")
    assert read_bundle(renamed).kind == "demo"


def test_no_pickle_in_the_package():
    folder = Path(bundle_module.__file__).parent
    sources = [*folder.glob("*.py"), folder.parent / "topic_data.py"]
    imports = [
        line
        for source in sources
        for line in source.read_text(encoding="utf-8").splitlines()
        if line.lstrip().startswith(("import ", "from "))
    ]
    assert imports
    banned = ("pickle", "joblib", "marshal", "shelve")
    assert not [line for line in imports if any(name in line for name in banned)]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"arrays": {"x": np.array(["a"])}}, "'x' has dtype <U1"),
        ({"arrays": {"x": np.array([None])}}, "'x' has dtype object"),
        ({"arrays": {"x": np.ones(2, complex)}}, "complex128"),
        ({"arrays": {"x": np.ones(2, "c8")}}, "complex64"),
        ({"arrays": {"x": [1, 2]}}, "'x' is of type list"),
        ({"arrays": {"x": np.ma.masked_array([1])}}, "MaskedArray"),
        ({"strings": {"s": ["a", 3]}}, "'s' have a int at position 1"),
        ({"meta": {"a": [{"b": {1}}]}}, r"meta\['a'\]\[0\]\['b'\] is of type set"),
        ({"meta": {"a": np.ones(2)}}, r"meta\['a'\] is of type ndarray"),
        ({"meta": {"a": {1: 2}}}, "has the key 1 of type int"),
        ({"meta": {"a": 10**5000}}, "JSON"),
    ],
)
def test_what_cannot_be_saved_is_refused_before_writing(tmp_path, bad, message):
    with pytest.raises(ModelFileError, match=message):
        write_bundle(tmp_path / "x", kind="k", **bad)
    assert not list(tmp_path.iterdir())


def test_meta_that_contains_itself_is_refused(tmp_path):
    loop: list = []
    loop.append(loop)
    with pytest.raises(ModelFileError, match="nested"):
        write_bundle(tmp_path / "x", kind="k", meta={"loop": loop})


def test_too_much_json_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(bundle_module, "MAX_JSON_CHARS", 300)
    with pytest.raises(ModelFileError, match="Give long lists as arrays"):
        write_bundle(tmp_path / "x", kind="k", meta={"long": "x" * 300})


def test_missing_path(tmp_path):
    with pytest.raises(ModelFileError, match=r"no file or folder .*Give the folder"):
        read_bundle(tmp_path / "nothing")
    small(tmp_path / "news.safetensors")
    with pytest.raises(ModelFileError, match=r"Did you mean .*news\.safetensors\?"):
        read_bundle(tmp_path / "news")


def test_folder_that_is_not_a_model(tmp_path):
    with pytest.raises(ModelFileError, match=r"not a saved model.*model\.safetensors"):
        read_bundle(tmp_path)


@pytest.mark.parametrize(
    "content", [b"x", b"hello world, this is text", b"\x80\x05}." * 9]
)
def test_not_a_safetensors_file(tmp_path, content):
    (tmp_path / "x.safetensors").write_bytes(content)
    with pytest.raises(ModelFileError, match="not a safetensors file"):
        read_bundle(tmp_path / "x.safetensors")


@pytest.mark.parametrize("end", ["1e999", "NaN", "null"])
def test_tensors_that_end_nowhere_are_refused(tmp_path, end):
    header = f'{{"w":{{"dtype":"F64","shape":[1],"data_offsets":[0,{end}]}}}}'.encode()
    content = len(header).to_bytes(8, "little") + header + bytes(8)
    (tmp_path / "x.safetensors").write_bytes(content)
    with pytest.raises(ModelFileError, match="its header cannot be read"):
        read_bundle(tmp_path / "x.safetensors")


def test_safetensors_of_another_program(tmp_path):
    save_file({"w": np.ones(2)}, tmp_path / "x.safetensors")
    with pytest.raises(ModelFileError, match="not one of topicfold"):
        read_bundle(tmp_path / "x.safetensors")
    save_file({"w": np.ones(2)}, tmp_path / "y.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelFileError, match="not one of topicfold"):
        read_bundle(tmp_path / "y.safetensors")


def test_truncated_at_any_place(tmp_path):
    file = small(tmp_path / "x.safetensors")
    whole = file.read_bytes()
    for size in range(len(whole)):
        file.write_bytes(whole[:size])
        expected = "truncated" if size == 0 or size > 8 else "not a safetensors"
        with pytest.raises(ModelFileError, match=expected):
            read_bundle(file)


def test_trailing_bytes(tmp_path):
    file = small(tmp_path / "x.safetensors")
    file.write_bytes(file.read_bytes() + b"more")
    with pytest.raises(ModelFileError, match="damaged"):
        read_bundle(file)


@pytest.mark.parametrize("flip", [0x01, 0x80])
def test_any_flipped_bit_is_detected(tmp_path, flip):
    file = small(tmp_path / "x.safetensors")
    whole = bytearray(file.read_bytes())
    for place in range(len(whole)):
        whole[place] ^= flip
        file.write_bytes(whole)
        with pytest.raises(ModelFileError):
            read_bundle(file)
        whole[place] ^= flip


def test_flipped_data_names_the_tensor(tmp_path):
    file = write_bundle(tmp_path, kind="k", arrays={"phi": np.ones(3)})
    whole = bytearray(file.read_bytes())
    whole[-1] ^= 4
    file.write_bytes(whole)
    with pytest.raises(ModelFileError, match="wrong checksum of arrays/phi"):
        read_bundle(file)


def test_newer_format_says_to_upgrade(tmp_path):
    file = small(tmp_path / "x.safetensors")
    write_header(file, {**header_of(file), "format_version": 2}, seal=False)
    with pytest.raises(
        ModelFileError, match=r"format version 2.*pip install --upgrade"
    ):
        read_bundle(file)


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"format_version": "1"},
        {"format_version": 0},
        {"format_version": True},
        {"kind": 3},
        {"meta": []},
        {"meta": {"x": {"$float": "one"}}},
        {"meta": {"x": {"$float": ["nan"]}}},
        {"meta": {"x": {"$float": "nan", "y": 1}}},
        {"meta": {"x": {"$code": "1"}}},
        {"meta": {"x": 1, "$y": 1}},
        {"checksums": {}},
        {"checksums": None},
        {"checksums": {"arrays/b": 1}},
        {"topicfold_version": 1},
    ],
)
def test_well_formed_headers_without_sense_are_refused(tmp_path, change):
    file = tmp_path / "x.safetensors"
    write_bundle(file, kind="k", arrays={"a": np.zeros(2)})
    header = {k: v for k, v in header_of(file).items() if k != "crc32"}
    write_header(file, header)
    assert read_bundle(file).kind == "k"
    write_header(file, {**header, **change})
    with pytest.raises(ModelFileError, match="damaged"):
        read_bundle(file)


@pytest.mark.parametrize("depth", [450, 900, 100_000])
def test_deeply_nested_json_is_no_crash(tmp_path, depth):
    file = tmp_path / "x.safetensors"
    write_bundle(file, kind="k", arrays={"a": np.zeros(2)})
    header = {k: v for k, v in header_of(file).items() if k != "crc32"}
    text = json.dumps({**header, "meta": "?"}, separators=(",", ":"))
    text = text.replace('"?"', '{"x":' + "[" * depth + "]" * depth + "}")
    text = f'{text[:-1]},"crc32":{zlib.crc32(text.encode())}}}'
    save_file({"arrays/a": np.zeros(2)}, file, metadata={"topicfold": text})
    try:  # how deep Python goes depends on its version
        assert read_bundle(file).meta
    except ModelFileError as error:
        assert "damaged" in str(error)  # noqa: PT017


@pytest.mark.parametrize(
    ("blob", "offsets"),
    [
        (b"ab", [0, 3]),
        (b"ab", [0, 1]),
        (b"ab", [1, 2]),
        (b"ab", [0, 2, 1, 2]),
        (b"ab", [0, -1, 2]),
        (b"ab", []),
        (b"\xff", [0, 1]),
        (b"ab", [[0, 2]]),
    ],
)
def test_wrong_offsets_are_refused(tmp_path, monkeypatch, blob, offsets):
    tensors = {
        "strings/s/utf8": np.frombuffer(blob, np.uint8),
        "strings/s/offsets": np.array(offsets, np.int64),
    }
    monkeypatch.setattr(bundle_module, "pack_tensors", lambda *_: tensors)
    file = write_bundle(tmp_path, kind="k")
    with pytest.raises(ModelFileError, match="damaged: strings 's'"):
        read_bundle(file)


def test_wrong_kind(tmp_path):
    file = small(tmp_path)
    assert read_bundle(file, kind="demo").kind == "demo"
    with pytest.raises(ModelFileError, match="saved 'demo', not a 'topic_data'"):
        read_bundle(file, kind="topic_data")
