# SPDX-License-Identifier: BSD-3-Clause
"""What a release holds, built here without a network, and what it says of itself."""

import email
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path, PurePosixPath

import pytest

import topicfold

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path(topicfold.__file__).resolve().parent
pytest.importorskip("hatchling", reason="builds the distributions")
pytestmark = pytest.mark.skipif(
    not (ROOT / "pyproject.toml").is_file(), reason="the sources are not here"
)
VERSION = re.compile(r"\d+\.\d+\.\d+(?:\.dev\d+|(?:a|b|rc)\d+)?")


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=600,
    )
    return folder


@pytest.fixture(scope="module")
def wheel(dist):
    with zipfile.ZipFile(next(dist.glob("*.whl"))) as file:
        return {name: file.read(name) for name in file.namelist()}


@pytest.fixture(scope="module")
def sdist(dist):
    with tarfile.open(next(dist.glob("*.tar.gz"))) as file:
        return {PurePosixPath(*PurePosixPath(n).parts[1:]) for n in file.getnames()}


def _sources():
    """Return the files of the package that are no by-products."""
    made = {".pyc", ".nbi", ".nbc"}
    return {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix not in made
    }


def test_wheel_holds_the_package_and_nothing_else(wheel):
    packed = {name for name in wheel if ".dist-info/" not in name}
    assert packed == _sources()
    # What a user's program reads beside the modules.
    kinds = {PurePosixPath(name).suffix for name in packed}
    assert kinds == {".py", ".typed", ".cu", ".js", ".css", ".jinja", ".txt"}
    assert "topicfold/py.typed" in packed


def test_wheel_has_no_tests_and_no_benchmarks(wheel):
    for name in wheel:
        parts = set(PurePosixPath(name).parts)
        assert not parts & {"tests", "benchmarks", "docs", "examples"}, name
        assert not PurePosixPath(name).name.startswith(("test_", "conftest")), name


def test_sdist_holds_what_its_tests_need(sdist):
    files = {path.as_posix() for path in sdist}
    alone = {
        "CHANGELOG.md",
        "CITATION.cff",
        "CONTRIBUTING.md",
        "LICENSE",
        "Makefile",
        "README.md",
        "SECURITY.md",
        "pyproject.toml",
    }
    assert alone <= files
    assert {f"src/{name}" for name in _sources()} <= files
    for folder, pattern in (
        ("tests", "**/*.py"),
        ("examples", "*"),
        ("docs", "guide/*.md"),
        ("docs", "*.py"),
        ("benchmarks", "results/**/*.md"),
    ):
        wanted = [path for path in (ROOT / folder).glob(pattern) if path.is_file()]
        assert wanted, (folder, pattern)
        for path in wanted:
            if "__pycache__" not in path.parts:
                assert path.relative_to(ROOT).as_posix() in files


def test_sdist_has_no_by_products(sdist):
    for path in sdist:
        assert not {"__pycache__", "_build", "_generated", ".venv"} & set(path.parts)
        assert path.suffix not in {".pyc", ".nbi", ".nbc"}


def test_metadata_of_the_wheel(wheel, project):
    name = next(n for n in wheel if n.endswith(".dist-info/METADATA"))
    found = email.message_from_bytes(wheel[name])
    assert found["Version"] == topicfold.__version__
    assert found["License-Expression"] == "BSD-3-Clause"
    assert found["Requires-Python"] == project["project"]["requires-python"]
    assert found["Description-Content-Type"] == "text/markdown"
    assert found.get_payload().startswith("# topicfold")
    needed = [line for line in found.get_all("Requires-Dist") if "extra ==" not in line]
    assert sorted(needed) == sorted(project["project"]["dependencies"])
    licence = name.replace("METADATA", "licenses/LICENSE")
    assert wheel[licence] == (ROOT / "LICENSE").read_bytes()


def test_the_version_has_one_place(project):
    assert "version" not in project["project"]
    assert "version" in project["project"]["dynamic"]
    place = ROOT / project["tool"]["hatch"]["version"]["path"]
    assert f'"{topicfold.__version__}"' in place.read_text(encoding="utf-8")
    assert VERSION.fullmatch(topicfold.__version__)
    for path in [*PACKAGE.rglob("*.py"), ROOT / "pyproject.toml"]:
        if path != place:
            text = path.read_text(encoding="utf-8")
            assert f'"{topicfold.__version__}"' not in text, path


def test_changelog_and_citation_tell_the_released_version():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", changelog, re.MULTILINE)
    assert headings[0] == "Unreleased"
    version, day = re.fullmatch(r"(\S+) - (\d{4}-\d\d-\d\d)", headings[1]).groups()
    assert topicfold.__version__ == version or ".dev" in topicfold.__version__
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {version}\n" in citation
    assert f"\ndate-released: {day}\n" in citation


def test_every_supported_python_is_named(project):
    named = re.findall(
        r"Python :: 3\.(\d+)", "\n".join(project["project"]["classifiers"])
    )
    oldest = int(project["project"]["requires-python"].removeprefix(">=3."))
    assert [int(minor) for minor in named] == list(range(oldest, oldest + len(named)))
    assert sys.version_info[1] >= oldest


def test_oldest_versions_cover_every_dependency(project):
    done = subprocess.run(
        [sys.executable, str(ROOT / ".ci" / "oldest.py")],
        capture_output=True,
        text=True,
        check=True,
    )
    pinned = dict(line.split("==") for line in done.stdout.splitlines())
    for line in project["project"]["dependencies"]:
        name, version = line.split(">=")
        assert pinned[name] == version
    assert {"dask", "pyarrow", "zstandard", "snowballstemmer"} <= set(pinned)
