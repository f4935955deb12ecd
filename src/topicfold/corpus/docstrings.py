# SPDX-License-Identifier: BSD-3-Clause
"""From a docstring in numpydoc form to prose: what a topic model should read."""

from __future__ import annotations

import inspect
import re
from collections import Counter

# Sections that say little about the subject: citations, and the method tables that
# SciPy writes alike into every distribution.
_DROPPED_SECTIONS = frozenset({"references", "methods"})
_DROPPED_DIRECTIVES = frozenset(
    {
        *("math", "plot", "code", "code-block", "sourcecode", "image", "figure"),
        *("index", "versionadded", "versionchanged", "versionremoved"),
    }
)
_UNDERLINE = re.compile(r"^[-=~]{3,}$")
_DIRECTIVE = re.compile(r"^\.\. ([\w-]+)::")
_NOISE = re.compile(
    r"https?://\S+"  # addresses
    r"|:math:`[^`]*`"  # formulas within the line
    r"|\[\w+\]_"  # citation marks
    r"|\\\w+"  # LaTeX left over
)
# The signature that compiled functions carry in the first line.
_SIGNATURE = re.compile(r"\A[\w.]+\(.*\)(?: ->.*)?\n+")
_PARAGRAPHS = re.compile(r"\n[^\S\n]*\n+")
_ROLE = re.compile(r":(?:\w+:)?\w+:(?=`)")

# English function words, and words any text about any subject has.
_PLAIN_WORDS = """
about above according after again against all allow allowed allows along already also
although always among an and another any anything appropriate are around as at available
away be because been before being below best better between both but by call called
calling calls can cannot case cases certain change common commonly consider contain
containing contains convenience correct corresponding could current currently defined
defines depending depends described describes description desired detail details did
different do documentation does doing done due during each effectively either else
ensure equivalent etc even every example examples except expected explicit explicitly
few first following follows for form found from full further general generally get give
given gives giving had has have having hence here how however if implementation
implemented implements important in include included includes including indicate
indicates instead into is it its itself just keep kept known larger last later least
less let like list lists made mainly make makes making many may mean meaning means might
more most much must necessary need needed needs neither never new next no non nor not
note notes nothing now occur of off often old on once one only or other others otherwise
our out over own particular pass passed passing per perform performed performs please
possible preferred present previous previously produce produced provide provided
provides providing rather really recommended refer related required requires
respectively same second section see seen several shall should show shown shows similar
similarly simple simply since so some something sometimes specific specified specifies
specify still such suitable supported supports sure take taken takes than that the their
them then there therefore these they this those though three through throughout thus to
together too two type types typically under unless unlike until up upon us use used
useful user uses using usual usually value values various very via want was way we well
were what when where whereas whether which while who whole whose why will with within
without would yes yet you your
"""
# Words of docstrings about docstrings, types and calls.
_DOCSTRING_WORDS = """
added additional alias api applied apply arg args argument arguments array arrays
assumed attribute attributes backward based behavior bool boolean calculate calculated
calculates callable class classes code compatibility compute computed computes converted
copy corresponds create created creates default defaults deprecated determine determined
determines dict dictionary directly docstring dtype elements entry equal error estimator
exception false field fields find fit float floats function functions guide ignored
import information inplace input inputs instance instances int integer integers
interface ints item items iterable keyword keywords kind kwarg kwargs ldots len method
methods module name named names ndarray ndarrays none np npt null num number numbers
numpy obj object objects omitted option optional options original output outputs package
param parameter parameters params print private property public python raise raised
raises read ref reference references remain represent representation represented
representing represents result resulting results return returned returning returns
routine scalar scalars scikit scipy self sequence sequences set sets setting shape
shapes size sizes sklearn sp specifically str string strings subclass support treated
true tuple tuples typeerror unchanged valid valueerror var variable variables version
versionadded versionchanged warning warnings warns wise xp
"""
STOP_WORDS = frozenset(f"{_PLAIN_WORDS} {_DOCSTRING_WORDS}".split())


def prose(docstring: str) -> str:
    """Return the readable part of a numpydoc docstring.

    Drops doctest lines with their output, section headings, formulas, citations,
    addresses, and the sections that repeat in every docstring; keeps paragraphs,
    parameter descriptions and the names of related functions.

    Parameters
    ----------
    docstring : str
        The docstring, indented or not.

    Returns
    -------
    str
        The text, lines kept, without blank lines at the ends.

    Examples
    --------
    >>> print(prose('''Sort the input.
    ...
    ...     References
    ...     ----------
    ...     .. [1] A. Author, "Sorting", 1999.
    ...
    ...     Examples
    ...     --------
    ...     An easy case:
    ...
    ...     >>> sort([2, 1])
    ...     [1, 2]
    ...     '''))
    Sort the input.
    <BLANKLINE>
    An easy case:
    """
    kept: list[str] = []
    section = ""
    lines = _SIGNATURE.sub("", inspect.cleandoc(docstring)).split("\n")
    position = 0
    while position < len(lines):
        line = lines[position]
        stripped = line.strip()
        if _is_heading(lines, position):
            section = stripped.lower()
            position += 2
            continue
        directive = _DIRECTIVE.match(stripped)
        if stripped.startswith(">>>"):
            position = _skip_paragraph(lines, position)
        elif directive and directive[1] in _DROPPED_DIRECTIVES:
            position = _skip_block(lines, position)
        else:
            if section not in _DROPPED_SECTIONS:
                kept.append(_ROLE.sub("", _NOISE.sub(" ", line)).rstrip())
            position += 1
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()


def without_boilerplate(texts: list[str], *, most: int) -> list[str]:
    r"""Drop lines that many texts have word for word, and notes on array backends.

    Parameters
    ----------
    texts : list of str
        The texts.
    most : int
        A line of three or more words stays if at most so many texts have it.

    Returns
    -------
    list of str
        The texts without these lines.

    Examples
    --------
    >>> without_boilerplate(["Input or output.\nA", "Input or output.\nB"], most=1)
    ['A', 'B']
    """
    texts = [
        "\n\n".join(
            paragraph
            for paragraph in _PARAGRAPHS.split(text)
            if "Array API Standard" not in " ".join(paragraph.split())
        )
        for text in texts
    ]
    frequency = Counter(
        line for text in texts for line in {line.strip() for line in text.split("\n")}
    )
    common = {
        line
        for line, count in frequency.items()
        if count > most and len(line.split()) >= 3
    }
    return [
        "\n".join(
            line for line in text.split("\n") if line.strip() not in common
        ).strip()
        for text in texts
    ]


def _is_heading(lines: list[str], position: int) -> bool:
    below = lines[position + 1].strip() if position + 1 < len(lines) else ""
    title = lines[position].strip()
    return bool(title) and len(title) < 40 and bool(_UNDERLINE.match(below))


def _skip_paragraph(lines: list[str], position: int) -> int:
    while position < len(lines) and lines[position].strip():
        position += 1
    return position


def _skip_block(lines: list[str], position: int) -> int:
    """Skip a directive and what is indented deeper than it."""
    indent = len(lines[position]) - len(lines[position].lstrip())
    position += 1
    while position < len(lines):
        line = lines[position]
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            break
        position += 1
    return position
