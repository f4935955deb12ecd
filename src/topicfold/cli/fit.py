# SPDX-License-Identifier: BSD-3-Clause
"""``topicfold fit``: learn topics from documents and save the model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from topicfold.cli.console import show_fact, working
from topicfold.cli.inputs import TextOptions, read_corpus
from topicfold.cli.messages import EXIT_INTERRUPTED
from topicfold.cli.registry import make_model, model_names

if TYPE_CHECKING:
    from topicfold.cli.fitting import FitReport

HELP = """Learn topics from documents and save the model.

INPUT is a folder of .txt files (sub-folders are labels), a .txt file with one
document a line, a .jsonl file with the field "text", a corpus folder with
counts.npz and vocab.txt, or the word docs: the built-in corpus.

\b
[bold]Examples[/bold]
  topicfold fit reviews.txt -k 30 -o reviews-model
  topicfold fit docs --model plsa -k 20 -o docs-model

\b
[bold]In Python[/bold]
  from topicfold import LDA, corpus
  texts = corpus.read_texts("reviews.txt").texts
  X, words = corpus.vectorize(texts, stop_words="english")
  model = LDA(30, random_state=0, n_jobs=-1).fit(X)
  model.save("reviews-model")
"""

_TEXT = "Raw text"
_FIT = "Fit"

InputArgument = Annotated[
    str, typer.Argument(metavar="INPUT", help="Documents: file, folder or docs.")
]
EncodingOption = Annotated[
    str | None,
    typer.Option(
        help="How text files are written.",
        show_default="utf-8",
        rich_help_panel=_TEXT,
    ),
]
_Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the model.")
]
_Model = Annotated[str, typer.Option("--model", "-m", help=f"One of: {model_names()}.")]
_Topics = Annotated[int, typer.Option("--topics", "-k", min=1, help="Topics to learn.")]
_Seed = Annotated[int, typer.Option(min=0, help="Seed; the same one, the same model.")]
_Jobs = Annotated[
    int,
    typer.Option(help="Threads, -1 for all; no effect on the result."),
]
_MaxIter = Annotated[
    int | None,
    typer.Option(min=1, help="Most iterations.", rich_help_panel=_FIT),
]
_Tol = Annotated[
    float | None,
    typer.Option(
        min=0, help="Relative change that ends the fit.", rich_help_panel=_FIT
    ),
]
_Algorithm = Annotated[
    str | None,
    typer.Option(help="For lda: cvb0 or variational.", rich_help_panel=_FIT),
]
_Device = Annotated[str, typer.Option(help="Where to compute.", rich_help_panel=_FIT)]
_MinDf = Annotated[
    str | None,
    typer.Option(
        metavar="N",
        help="Keep words in at least so many documents, or such a share of them.",
        show_default="2; docs: 3",
        rich_help_panel=_TEXT,
    ),
]
_MaxDf = Annotated[
    str | None,
    typer.Option(
        metavar="N",
        help="Keep words in at most so many documents, or such a share of them.",
        show_default="0.5; docs: 0.3",
        rich_help_panel=_TEXT,
    ),
]
_MaxFeatures = Annotated[
    int | None,
    typer.Option(min=1, help="Keep so many words.", rich_help_panel=_TEXT),
]
_StopWords = Annotated[
    str | None,
    typer.Option(
        help="Words to leave out: english, none, or a file with a word a line.",
        show_default="english",
        rich_help_panel=_TEXT,
    ),
]
_Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only problems are said.")]
_Force = Annotated[bool, typer.Option("--force", help="Replace a model in DIR.")]


def fit(
    source: InputArgument,
    output: _Output,
    model: _Model = "lda",
    topics: _Topics = 50,
    seed: _Seed = 0,
    jobs: _Jobs = -1,
    quiet: _Quiet = False,
    force: _Force = False,
    max_iter: _MaxIter = None,
    tol: _Tol = None,
    algorithm: _Algorithm = None,
    device: _Device = "cpu",
    min_df: _MinDf = None,
    max_df: _MaxDf = None,
    max_features: _MaxFeatures = None,
    stop_words: _StopWords = None,
    encoding: EncodingOption = None,
) -> None:
    """Learn topics from documents and save the model."""
    from topicfold.cli.fitting import fit_model, show_corpus
    from topicfold.persistence.model_folder import (
        check_output_folder,
        save_model_folder,
    )

    check_output_folder(output, replace=force)
    estimator = make_model(
        model,
        {
            "n_components": topics,
            "random_state": seed,
            "n_jobs": jobs,
            "max_iter": max_iter,
            "tol": tol,
            "algorithm": algorithm,
            "device": device,
        },
    )
    options = TextOptions(min_df, max_df, max_features, stop_words, encoding)
    with working(f"Reading {source} …", quiet=quiet):
        corpus, text = read_corpus(source, options)
    if not quiet:
        show_corpus(corpus)
    report = fit_model(estimator, corpus.counts, quiet=quiet)
    save_model_folder(
        estimator,
        output,
        vocabulary=corpus.vocabulary,
        labels=corpus.labels,
        doc_ids=corpus.ids,
        text=text,
        corpus=corpus.name,
    )
    if not quiet:
        show_fact("Model", f"{report.summary}{_advice(report)}")
        show_fact("Saved", str(output))
        show_fact("Next", f"topicfold topics {output}")
    if report.interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)


def _advice(report: FitReport) -> str:
    if report.interrupted or report.converged:
        return ""
    return ", the most allowed (--max-iter for more)"
