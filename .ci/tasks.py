# SPDX-License-Identifier: BSD-3-Clause
"""Run the eighteen tasks of docs/tasks.md as they stand there, on foreign files.

    python .ci/tasks.py REPOSITORY

Runs in an empty folder, in an environment with topicfold and the extras that the page
names. The articles are docstrings of Python's own library, in a file as a spreadsheet
writes it: with semicolons, a byte order mark, Windows' line ends and quoted line
breaks. Lines of Python are executed one task after the other, commands by the shell.
"""

import csv
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import warnings
from pathlib import Path

MODULES = ("email", "json", "logging", "concurrent", "unittest", "xml", "asyncio")
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def articles():
    """Return (title, text, section) of different docstrings of the library."""
    found = {}
    for package in MODULES:
        top = importlib.import_module(package)
        names = [package]
        names += [f"{package}.{m.name}" for m in pkgutil.iter_modules(top.__path__)]
        for name in (n for n in names if "__main__" not in n and "windows" not in n):
            try:
                module = importlib.import_module(name)
            except ImportError:
                continue
            for title, thing in sorted(vars(module).items()):
                parts = vars(thing).items() if inspect.isclass(thing) else ()
                for own, part in [(title, thing), *parts]:
                    text = inspect.getdoc(part) if callable(part) else None
                    if text and text.count(" ") > 5 and not own.startswith("__"):
                        found.setdefault(text, (f"{name}.{own}", package))
    return [(title, text, package) for text, (title, package) in found.items()]


def write(file, rows, labelled):
    """Write a table as a spreadsheet does."""
    with Path(file).open("w", encoding="utf-8-sig", newline="") as stream:
        table = csv.writer(stream, delimiter=";", quoting=csv.QUOTE_ALL)
        table.writerow(["title", "text", "section", "date"])
        for i, (title, text, section) in enumerate(rows):
            day = f"20{i % 10 + 10}-03-01"
            table.writerow([title, text, section if labelled(i) else "", day])


def main(repository):
    """Run every task; a failure ends the program."""
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(Path(repository, "docs")))
    page = Path(repository, "docs", "tasks.md").read_text(encoding="utf-8")
    rows = articles()
    write("articles.csv", rows[20:], lambda i: True)
    write("more.csv", rows[:20], lambda i: True)
    write("few.csv", rows[20:], lambda i: i % 8 == 0)
    import drawn
    import pandas

    drawn.write()
    names = {
        "__name__": "__page__",
        "pandas": pandas,
        "more": [text for _, text, _ in rows[::9]],
        "more_labels": [label for _, _, label in rows[::9]],
    }
    topicfold = Path(sys.executable).with_name("topicfold")
    fit = ["fit", "speeches.csv", "-k", "6", "-o", "speeches"]
    subprocess.run([topicfold, *fit], check=True, stdout=subprocess.DEVNULL)
    tasks = re.split(r"^## (?=\d+\. )", page, flags=re.MULTILINE)[1:]
    for task in tasks:
        print(task.splitlines()[0], flush=True)  # noqa: T201
        for kind, block in BLOCK.findall(task):
            if kind == "python":
                exec(compile(block, "tasks.md", "exec"), names)
            else:
                command = block.replace("topicfold", str(topicfold), 1)
                subprocess.run(command, shell=True, check=True)
    return len(tasks)


if __name__ == "__main__":
    ran = main(Path(sys.argv[1]).resolve())
    print(f"{ran} tasks ran.")  # noqa: T201
