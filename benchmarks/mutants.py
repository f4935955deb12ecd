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
ROOMS = ("steps", "infer", "graph")
# Operators are replaced within a family: a float that is shifted dies by itself.
FAMILIES = (
    {"Add", "Sub", "Mul", "Div", "FloorDiv", "Mod", "Pow"},
    {"RShift", "LShift", "BitOr", "BitAnd", "BitXor"},
    {"Eq", "NotEq", "Lt", "LtE", "Gt", "GtE"},
    {"Is", "IsNot"},
)
INFERENCE, MODELS = "tests/infer", "tests/models"
FRANK_WOLFE = [
    f"{INFERENCE}/test_frank_wolfe_parts.py",
    f"{INFERENCE}/test_line_search.py",
    f"{INFERENCE}/test_frank_wolfe.py",
]
QUICK_FRANK_WOLFE = [
    *FRANK_WOLFE,
    "-k",
    "test_frank_wolfe_parts or test_line_search or same_steps or empty or ties or "
    "one_topic or word_without or minus_one or perfect or scale or zeros",
]
# Files of compiled functions, and small tests that are first run on the mutants as
# plain Python, which takes a second; only what survives is compiled.
KERNELS = {
    "steps/graph.py": [
        "tests/steps/test_graph_operator.py",
        "tests/steps/test_graph_steps.py",
        "-k",
        "test_normal or test_every or test_zero or test_two or test_solver or "
        "test_operator or never_leaves or test_separation or test_rows",
    ],
    "steps/orthogonal.py": [
        "tests/steps/test_orthogonal_step.py",
        "-k",
        "normaliser or sweep or negative_multipliers or pairs",
    ],
    "infer/frank_wolfe.py": QUICK_FRANK_WOLFE,
    "graph/_kernels.py": [
        "tests/graph/test_graph_parts.py",
        "tests/graph/test_graph_neighbors.py",
        "-k",
        "test_graph_parts or small_counts or ties or duplicates or without_words",
    ],
}
MIXTURES = [f"{INFERENCE}/test_mixtures.py", f"{MODELS}/test_plsa.py"]
GIBBS = ["tests/gibbs/test_fixed_topics.py", "tests/gibbs/test_left_to_right.py"]
GRAPH_STEPS = [
    "tests/steps/test_graph_operator.py",
    "tests/steps/test_pareto_step.py",
    "tests/steps/test_graph_steps.py",
]
ORTHOGONAL = [
    "tests/steps/test_orthogonal_parts.py",
    "tests/steps/test_orthogonal_step.py",
]
TWO_PHASE = [
    f"{INFERENCE}/test_second_phase.py",
    f"{MODELS}/test_two_phase_options.py",
    f"{MODELS}/test_two_phase.py",
]
# What is run against mutants of a module, or else of its room; its doctests come first.
TESTS = {
    "steps": GRAPH_STEPS,
    "steps/base.py": ["tests/steps/test_dirichlet_steps.py", *MIXTURES[1:]],
    "steps/orthogonal.py": [*ORTHOGONAL, f"{MODELS}/test_orthogonal.py"],
    "infer": FRANK_WOLFE,
    "infer/class_words.py": TWO_PHASE,
    "infer/fold_in.py": [*MIXTURES, f"{MODELS}/test_lda.py"],
    "gibbs/fixed_topics.py": [*GIBBS, "tests/gibbs/test_gibbs_parts.py"],
    "core/simplex.py": [*MIXTURES, f"{MODELS}/test_lda.py"],
    "infer/two_phase.py": TWO_PHASE,
    "graph": ["tests/graph"],
}
# These take long and would tell little more of one room.
SLOW = ("report_their_recall", "scikit_learn_checks", "parts_classes", "_help")


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    path: str
    line: int
    column: int
    operator: str
    occurrence: int

    @property
    def room(self) -> str:
        return self.path.split("/")[0]

    def apply(self, source: str) -> str | None:
        """Return the changed source, None if Python sees no other program."""
        from cosmic_ray.mutating import mutate_code
        from cosmic_ray.plugins import get_operator

        changed = mutate_code(source, get_operator(self.operator)(), self.occurrence)
        try:
            same = ast.dump(ast.parse(changed)) == ast.dump(ast.parse(source))
        except SyntaxError:
            return None
        return None if same else changed


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


def all_mutants(root: Path) -> Iterator[Mutant]:
    """Yield every mutant that is not left out, in a fixed order."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    operators = [
        (name, get_operator(name)())
        for name in sorted(operator_names())
        if within_family(name) and not get_operator(name).arguments()
    ]
    for room in ROOMS:
        for file in sorted((root / PACKAGE / room).glob("*.py")):
            source = file.read_text()
            lines, spans = source.splitlines(), left_out(source)
            nodes = list(ast_nodes(get_ast(source)))
            for name, operator in operators:
                positions = (
                    position
                    for node in nodes
                    for position in operator.mutation_positions(node)
                )
                for occurrence, (start, _) in enumerate(positions):
                    # ast counts columns in bytes, parso in characters.
                    text = lines[start[0] - 1][: start[1]]
                    place = start[0], len(text.encode())
                    if not any(low <= place < high for low, high in spans):
                        yield Mutant(f"{room}/{file.name}", *start, name, occurrence)


def difference(source: str, changed: str) -> tuple[str, str]:
    """Return the first line that differs, before and after."""
    pairs = zip(source.splitlines(), changed.splitlines(), strict=False)
    return next(((a.strip(), b.strip()) for a, b in pairs if a != b), ("", ""))


def draw(mutants: list[Mutant], size: int, seed: int) -> list[Mutant]:
    """Draw a sample, of each room in proportion."""
    rng = random.Random(seed)
    chosen: list[Mutant] = []
    for room in ROOMS:
        inside = [m for m in mutants if m.room == room]
        chosen += rng.sample(inside, round(size * len(inside) / len(mutants)))
    rng.shuffle(chosen)
    return chosen


def tests_of(path: str) -> list[str]:
    """Return what pytest is given for mutants of a module."""
    tests = TESTS.get(path, TESTS[path.split("/")[0]])
    return [f"{PACKAGE}/{path}", *(t for t in tests if (ROOT / t).exists())]
