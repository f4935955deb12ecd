# SPDX-License-Identifier: BSD-3-Clause
"""The same rows give the same bits wherever they lie and whatever lies beside them."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from pathlib import Path

import kernel_bits_support as support
import numpy as np
import pytest
from scipy import sparse

from topicfold.gibbs.fixed_topics import gibbs_mixtures
from topicfold.infer.fold_in import fold_in
from topicfold.infer.frank_wolfe import frank_wolfe

SOURCE = Path(__file__).parents[1] / "src" / "topicfold"
# Loops that may do both, and why no order of addition can change in them.
EXEMPT = {
    "draw_rare": "stores the running sum: one element after another",
    "infer_documents": "counts whole numbers",
    "pull_together": "random numbers, one after another",
    "select_words": "stores at a place that it counts: one element after another",
    "sample_sides": "random numbers, one after another",
    "sweep_tree": "stores the running sum: one element after another",
    "sweep_documents": "one array only: nothing to guard",
}


def kernel_functions():
    """Yield every compiled function of the library, as a syntax tree."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and any(
                isinstance(decorator, ast.Name)
                and decorator.id in ("kernel", "part", "inline", "lean_kernel")
                for decorator in node.decorator_list
            ):
                yield path, node


def sums_and_stores(loop):
    """Return the names that a loop adds to, and whether it writes to an array."""
    sums, stores = set(), False
    for node in ast.walk(loop):
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AugAssign):
            targets = [node.target]
            counter = isinstance(node.value, ast.Constant)
            if isinstance(node.target, ast.Name) and not counter:
                sums.add(node.target.id)
        stores |= any(isinstance(target, ast.Subscript) for target in targets)
    return sums, stores


def test_no_loop_both_sums_and_stores():
    found, n_loops = [], 0
    for path, function in kernel_functions():
        for loop in ast.walk(function):
            inner = isinstance(loop, ast.For) and not any(
                isinstance(node, ast.For | ast.While)
                for child in loop.body
                for node in ast.walk(child)
            )
            if not inner:
                continue
            n_loops += 1
            sums, stores = sums_and_stores(loop)
            if sums and stores and function.name not in EXEMPT:
                found.append(f"{path.name}:{loop.lineno} {function.name} {sums}")
    assert n_loops > 100
    assert found == []


def test_what_kernels_call_is_part_of_them():
    compiled = {function.name: function for _, function in kernel_functions()}
    kernels = {
        name
        for name, function in compiled.items()
        if any(getattr(d, "id", "") == "kernel" for d in function.decorator_list)
    }
    called = {
        (caller, node.func.id)
        for caller, function in compiled.items()
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert len(kernels) > 20
    assert [pair for pair in sorted(called) if pair[1] in kernels] == []


def test_the_process_that_compiles_gives_the_bits_of_those_that_read_the_cache(
    tmp_path,
):
    code = """
import hashlib, numpy as np
from scipy import sparse
from topicfold import LDA, PLSA
from topicfold.infer.frank_wolfe import frank_wolfe
rng = np.random.default_rng(0)
X = sparse.csr_matrix(rng.poisson(0.3, (300, 120)).astype(float))
topics = rng.dirichlet(np.full(120, 0.1), 4)
found = [frank_wolfe(X, topics.T.copy(), tol=0.0).toarray()]
for model in (PLSA(9, max_iter=5, tol=0.0), LDA(9, max_iter=5, tol=0.0)):
    found.append(model.set_params(random_state=0).fit(X).doc_topics_)
print([hashlib.sha256(array.tobytes()).hexdigest() for array in found])
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    outputs = [
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]
    assert any(tmp_path.rglob("*.nbc"))
    assert outputs[0] == outputs[1]


def test_guarded_sums_are_seen_in_compiled_code():
    code = """define double @f() {
entry:
  br i1 %short, label %scalar.ph, label %vector.memcheck
vector.memcheck:
  br i1 %close, label %scalar.ph, label %vector.ph
scalar.ph:
  %s = phi double [ 0.0, %entry ], [ 0.0, %vector.memcheck ], [ %r, %vec.epilog ]
  %c = phi double [ %a, %entry ], [ %a, %vector.memcheck ], [ %a, %vec.epilog ]
vector.ph:
  ret double %c
}
"""
    found = support.guarded_sums(code)
    assert len(found) == 1
    assert "%s = phi" in found[0]


@pytest.mark.parametrize("width", support.WIDTHS)
def test_rows_at_every_offset_give_the_same_bits(width):
    assert support.check(widths=[width]) == []


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 4, 16, 33])
def test_documents_singly_and_in_batches_give_the_same_bits(width, dtype):
    rng = np.random.default_rng(width)
    X = sparse.csr_matrix(rng.poisson(0.3, (120, 120)).astype(dtype))
    X = sparse.csr_matrix(X[np.argsort(X.getnnz(axis=1), kind="stable")])
    topics = rng.dirichlet(np.full(120, 0.1), width).astype(dtype)
    word_major = topics.T.copy()
    prior = np.full(width, 0.1)
    ways = {
        "frank_wolfe": lambda X: frank_wolfe(X, word_major, tol=0.0).toarray(),
        "fold_in": lambda X: fold_in(X, topics, max_iter=20, tol=0.0, dtype=dtype),
        "digamma": lambda X: fold_in(
            X, topics, prior=prior, link="digamma", max_iter=5, tol=0.0, dtype=dtype
        ),
        "gibbs": lambda X: gibbs_mixtures(
            X, topics, prior=prior, burn_in=1, n_samples=2
        ),
    }
    for name, infer in ways.items():
        together = infer(X)
        for size in (1, 7):
            apart = [infer(X[row : row + size]) for row in range(0, X.shape[0], size)]
            np.testing.assert_array_equal(np.concatenate(apart), together, name)


@pytest.mark.skipif(sys.platform == "win32", reason="signals tell an unknown CPU")
@pytest.mark.parametrize(
    ("cpu", "kernels", "dtype"),
    [
        ("x86-64-v2", "document_rows advance", "float32"),
        ("znver2", "infer_documents advance", "float64"),
        ("skylake-avx512", "document_rows advance", "float64"),
        ("host exact", "document_rows advance", "float32"),
        (
            "skylake-avx512",
            "collapsed_document_rows collapsed_word_rows",
            "float32",
        ),
    ],
)
def test_other_cpus_and_exact_arithmetic_keep_the_rule(cpu, kernels, dtype, tmp_path):
    """Features are set too: a name alone leaves numba those of the host."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    if cpu != "host exact":
        environment |= {"NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": ""}
    command = [sys.executable, support.__file__, kernels, dtype, *cpu.split()[1:]]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode == -signal.SIGILL:
        pytest.skip(f"this machine does not run code for {cpu}")
    assert done.returncode == 0, done.stdout + done.stderr
