# SPDX-License-Identifier: BSD-3-Clause
"""The page of licences: every dependency, with what its own metadata says."""

import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "licences.md"
pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="docs/ is not here")
ROW = re.compile(r"^\| ([a-z][\w-]*) \| ([A-Z].+?) \| (.+?) \|$", re.MULTILINE)
# Licences by the word that all ways of writing them have.
FAMILIES = ("BSD", "MIT", "Apache", "LGPL", "MPL", "ISC", "PSF")
PERMISSIVE = {"BSD", "MIT", "Apache", "ISC", "PSF"}


def _table(heading):
    text = PAGE.read_text(encoding="utf-8")
    section = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return {name: licence for name, licence, _ in ROW.findall(section)}


USERS = ("What topicfold needs", "Extras")
SECTIONS = (*USERS, "For those who work on topicfold")


def _family(text):
    """Return the first licence that a text names."""
    text = text.replace("Python Software Foundation", "PSF")
    text = text.replace("Lesser General Public", "LGPL")
    places = [(text.find(name), name) for name in FAMILIES if name in text]
    return min(places)[1] if places else None


def _says(package):
    """Return what an installed package says of its licence, or None."""
    try:
        found = importlib.metadata.metadata(package)
    except importlib.metadata.PackageNotFoundError:
        return None
    named = [c for c in found.get_all("Classifier", []) if c.startswith("License")]
    lines = (found.get("License-Expression"), " ".join(named), found.get("License"))
    return next(filter(None, (_family(line or "") for line in lines)), None)


def test_every_dependency_has_its_line():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = {re.match(r"[\w-]+", line)[0] for line in project["dependencies"]}
    extras = {
        re.match(r"[\w-]+", line)[0]
        for lines in project["optional-dependencies"].values()
        for line in lines
    }
    assert needed <= set(_table(USERS[0]))
    listed = {name for heading in SECTIONS for name in _table(heading)}
    assert needed | extras <= listed
    # Only what others bring may be listed beyond that.
    assert listed - needed - extras <= set(_table(USERS[0]))


def test_licences_are_those_of_the_metadata():
    checked = 0
    for heading in SECTIONS:
        for package, licence in _table(heading).items():
            says = _says(package)
            if says is not None:
                assert _family(licence) == says, package
                checked += 1
    assert checked >= 12


def test_all_that_users_need_is_permissive():
    for heading in USERS:
        for package, licence in _table(heading).items():
            assert _family(licence) in PERMISSIVE, package


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("License :: OSI Approved :: BSD License", "BSD"),
        ("BSD-3-Clause AND 0BSD AND MIT", "BSD"),
        ("License :: OSI Approved :: Python Software Foundation License", "PSF"),
        ("LGPL-2.1-only", "LGPL"),
        ("something", None),
    ],
    ids=["classifier", "expression", "psf", "lgpl", "none"],
)
def test_ways_of_writing(text, family):
    assert _family(text) == family
