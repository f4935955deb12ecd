# SPDX-License-Identifier: BSD-3-Clause
"""The mutants that `benchmarks.mutation` draws from, and the tests for each."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "src/topicfold"
ROOMS = (
    *("parts", "theta", "phi", "evidence"),
    *("infer", "graph", "learn", "models", "classify"),
)
# Of this room the files with mathematics of their own; of the others, all files.
MODELS = ("side_by_side.py",)
# Operators are replaced within a family: a float that is shifted dies by itself.
FAMILIES = (
    {"Add", "Sub", "Mul", "Div", "FloorDiv", "Mod", "Pow"},
    {"RShift", "LShift", "BitOr", "BitAnd", "BitXor"},
    {"Eq", "NotEq", "Lt", "LtE", "Gt", "GtE"},
    {"Is", "IsNot"},
)
# Files of compiled functions, and small tests (a choice of names by -k) that are first
# run on the mutants as plain Python, which takes seconds; only survivors are compiled.
KERNELS = {
    "theta/graph.py": (
        "graph_operator graph_steps",
        "test_normal or test_every or test_zero or test_two or test_solver or "
        "test_operator_matches or never_leaves or test_separation or test_rows",
    ),
    "phi/orthogonal.py": (
        "orthogonal_parts orthogonal_step",
        "normaliser or matches or negative_multipliers or pairs or root or optimal",
    ),
    "infer/frank_wolfe.py": (
        "frank_wolfe_parts line_search frank_wolfe",
        "(test_frank_wolfe_parts or test_line_search or same_steps or empty or ties or "
        "one_topic or word_without or perfect or zeros) and not wins_too_little",
    ),
    "graph/inverted_lists.py": (
        "graph_parts graph_neighbors",
        "test_graph_parts or small_counts or ties or duplicates or without_words",
    ),
    "learn/medlda.py": ("margin_dual", "not scikit_learn"),
}
# Kernels of these rooms call compiled functions of the room.
CALLERS = {"infer": ("learn",)}
GOLDEN = "golden::test_a_fit_gives_what_it_gave"
NEVER_FALLS = "contract::test_the_objective_never_falls"
TWO_PHASE = "second_phase two_phase_options two_phase"
SIDED = "together sided_lda places"
# What is run against mutants of a module, or else of its room: names of test files, the
# quickest first. The module's doctests come before them.
TESTS = {
    "parts/steps.py": f"dirichlet_steps step_contract plsa lda {SIDED} {GOLDEN}",
    "theta/graph.py": f"graph_operator graph_steps pareto_step manifold {GOLDEN}",
    "phi/orthogonal.py": "orthogonal_parts orthogonal_step orthogonal",
    "theta/pareto.py": f"pareto_step graph_operator graph_steps manifold {GOLDEN}",
    "parts": "step_contract imports",
    "infer/fold_in.py": f"mixtures word_network plsa lda manifold {SIDED} {GOLDEN}",
    "infer/frank_wolfe.py": f"frank_wolfe_parts line_search frank_wolfe fstm {GOLDEN}",
    "infer/two_phase.py": f"{TWO_PHASE} {GOLDEN}",
    "infer": "imports",
    "graph/build.py": "graph_build graph_parts graph_user neighbor_graph manifold",
    "graph/inverted_lists.py": "graph_parts graph_neighbors",
    "graph/neighbors.py": "graph_parts graph_neighbors graph_build",
    "graph": "graph_build graph_trust",
    "theta/authors.py": f"author_topics {SIDED}",
    "parts/sides.py": f"hostile_sides labels seeds {SIDED} features author_topics",
    "evidence/design.py": "features bad_input hostile_sides",
    "evidence/features.py": f"features {SIDED} bad_input hostile_sides",
    "evidence/labels.py": f"labels {SIDED} bad_input hostile_sides",
    "evidence/links.py": f"links relational {SIDED} hostile_sides",
    "phi/matrices.py": "multimodal",
    "evidence/response.py": f"response linear links supervised {SIDED} hostile_sides",
    "phi/seeds.py": f"seeds {SIDED} hostile_sides",
    "parts/tables.py": "side_tables",
    "parts/together.py": SIDED,
    "evidence": SIDED,
    "learn/callbacks.py": "loop resume",
    "learn/fstm.py": f"fstm loop {GOLDEN}",
    "learn/initial.py": f"online plsa lda spare_topics {GOLDEN}",
    "learn/medlda.py": f"margin_dual medlda {GOLDEN}",
    "learn/online.py": f"online resume lda fstm {GOLDEN}",
    "learn/learner.py": (
        f"plsa lda priors online loop step_contract graph_steps {SIDED} {GOLDEN} "
        f"{NEVER_FALLS}"
    ),
    "learn/priors.py": "priors lda",
    "learn/resume.py": "resume",
    "parts/side_rows.py": f"{SIDED} labels features response links seeds supervised",
    "learn": "loop lda",
    "classify/explaining.py": "linear_rule classifier few_labels two_phase_options",
    "classify/few_labels.py": "few_labels",
    "classify/linear_rule.py": "linear_rule classifier",
    "models/side_by_side.py": "side_by_side few_labels",
}
# These take long and would tell little more of one room.
SLOW = ("report_their_recall", "scikit_learn_checks", "parts_classes", "_help")


@dataclass(frozen=True)
class Mutant:
    """One change of one file: the lines from `line` on, before and after."""

    path: str
    line: int
    operator: str
    before: str
    after: str

    @property
    def room(self) -> str:
        return self.path.split("/")[0]

    def apply(self, source: str) -> str | None:
        """Return the changed source, None if the lines are no longer there.

        Where the file has changed since, the same lines nearest by are taken.
        """
        lines, before = source.split("\n"), self.before.split("\n")
        starts = range(len(lines) - len(before) + 1)
        places = [n for n in starts if lines[n : n + len(before)] == before]
        if not places:
            return None
        place = min(places, key=lambda n: abs(n + 1 - self.line))
        lines[place : place + len(before)] = self.after.split("\n")
        return "\n".join(lines)


def left_out(source: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return the spans whose mutants are left out by rule (see the page)."""
    lines = source.splitlines()
    nodes: list[Any] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            arguments = node.args
            every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            every += [a for a in (arguments.vararg, arguments.kwarg) if a]
            nodes += [a.annotation for a in every if a.annotation]
            nodes += [node.returns] if node.returns else []
            nodes += node.decorator_list
            if any(getattr(d, "id", "") == "overload" for d in node.decorator_list):
                nodes.append(node)
            if node.name.endswith("_on_device"):
                nodes.append(node)
        elif isinstance(node, ast.ClassDef):
            nodes += node.decorator_list
        elif isinstance(node, ast.AnnAssign):
            nodes.append(node.annotation)
            if getattr(node.annotation, "id", "") == "TypeAlias":
                nodes.append(node)
        elif isinstance(node, ast.Raise | ast.JoinedStr):
            nodes.append(node)
        elif isinstance(node, ast.Call):
            logs = ast.unparse(node.func).startswith("_logger.")
            nodes += [node] if logs else []
        elif isinstance(node, ast.If):
            test = ast.unparse(node.test)
            if test == "TYPE_CHECKING" or test.startswith("on_device("):
                nodes += [node.test, *node.body]
            if "pragma: no cover" in lines[node.lineno - 1]:
                nodes.append(node)
    return [((n.lineno, n.col_offset), (n.end_lineno, n.end_col_offset)) for n in nodes]


def within_family(operator: str) -> bool:
    """Whether the operator of cosmic-ray is one of ours."""
    name = operator.removeprefix("core/")
    if name == "RemoveDecorator":
        return False
    if name.startswith(("ReplaceBinaryOperator", "ReplaceComparisonOperator")):
        _, old, new = name.split("_")
        return any(old in family and new in family for family in FAMILIES)
    return True


def positions(root: Path) -> Iterator[tuple[str, str, int]]:
    """Yield path, operator and occurrence of every mutant, in a fixed order."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    operators = [
        (name, get_operator(name)())
        for name in sorted(operator_names())
        if within_family(name) and not get_operator(name).arguments()
    ]
    for room in ROOMS:
        for file in sorted((root / PACKAGE / room).glob("*.py")):
            if room == "models" and file.name not in MODELS:
                continue
            source = file.read_text()
            lines, spans = source.splitlines(), left_out(source)
            nodes = list(ast_nodes(get_ast(source)))
            for name, operator in operators:
                places = (
                    place
                    for node in nodes
                    for place in operator.mutation_positions(node)
                )
                for occurrence, (start, _) in enumerate(places):
                    # ast counts columns in bytes, parso in characters.
                    text = lines[start[0] - 1][: start[1]]
                    place = start[0], len(text.encode())
                    if not any(low <= place < high for low, high in spans):
                        yield f"{room}/{file.name}", name, occurrence


def made(root: Path, path: str, operator: str, occurrence: int) -> Mutant | None:
    """Return the mutant at a position, None if Python sees no other program."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    source = (root / PACKAGE / path).read_text()
    changed = mutate_code(source, get_operator(operator)(), occurrence)
    try:
        if ast.dump(ast.parse(changed)) == ast.dump(ast.parse(source)):
            return None
    except SyntaxError:
        return None
    old, new = source.split("\n"), changed.split("\n")
    first = next(
        n for n, pair in enumerate(zip(old, new, strict=False)) if len({*pair}) > 1
    )
    last = next(n for n in range(len(old)) if old[-1 - n] != new[-1 - n])
    before, after = old[first : len(old) - last], new[first : len(new) - last]
    return Mutant(path, first + 1, operator, "\n".join(before), "\n".join(after))


def draw(root: Path, size: int, seed: int) -> tuple[list[Mutant], dict[str, int]]:
    """Draw a sample, of each room in proportion; also how many each room has."""
    rng = random.Random(seed)
    every = list(positions(root))
    chosen: list[Mutant] = []
    counts = {}
    for room in ROOMS:
        inside = [p for p in every if p[0].startswith(f"{room}/")]
        counts[room] = len(inside)
        wanted = round(size * len(inside) / len(every))
        rng.shuffle(inside)
        found: dict[Mutant, None] = {}
        for place in inside:
            if len(found) == wanted:
                break
            mutant = made(root, *place)
            if mutant:
                found[mutant] = None
        chosen += found
    rng.shuffle(chosen)
    return chosen, counts


def test_paths(names: str) -> list[str]:
    """Return the test files of these names, with what follows a name by ``::``."""
    paths = []
    for name in names.split():
        stem, mark, test = name.partition("::")
        found = sorted((ROOT / "tests").glob(f"**/test_{stem}.py"))
        if len(found) != 1:
            raise ValueError(f"{len(found)} files are named test_{stem}.py")
        paths.append(f"{found[0].relative_to(ROOT)}{mark}{test}")
    return paths


def tests_of(path: str) -> list[str]:
    """Return what pytest is given for mutants of a module."""
    names = TESTS.get(path) or TESTS[path.split("/")[0]]
    return [f"{PACKAGE}/{path}", *test_paths(names)]
