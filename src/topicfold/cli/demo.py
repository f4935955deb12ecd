# SPDX-License-Identifier: BSD-3-Clause
"""``topicfold demo``: topics of the built-in corpus, without any file or download."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from topicfold.cli import flags, inputs
from topicfold.cli.console import (
    EXIT_INTERRUPTED,
    show_corpus,
    show_fact,
    show_next,
    show_table,
    stdout_console,
    working,
)
from topicfold.cli.flags import Flags, flag, takes_flags

if TYPE_CHECKING:
    from topicfold.corpus import Corpus
    from topicfold.persistence.model_folder import ModelFolder

TEST_SHARE = 0.1
# Documents of the fit that compiles, and seconds from which it is worth mentioning.
_FEW = 30
_WORTH_SAYING = 2.0
_WORDS = 6
_MODELS = ("lda", "plsa")
_LEGEND = (
    "Perplexity (of unseen words in unseen documents): lower is better. NPMI (-1 to 1; "
    "high if the words of a topic occur together) and diversity (0 to 1; high if "
    "topics have different words): higher is better."
)


class _Flags(Flags):
    output: Path = flags.output("Folder for the models and the report.", Path("demo"))
    topics: int = flag("Topics to learn.", 30, "--topics -k", min=1)
    seed: int = flags.SEED


@takes_flags()
def demo(*, given: _Flags) -> None:
    """See what topicfold does, on documents that you already have.

    The documents are the docstrings of NumPy, SciPy and scikit-learn. LDA and PLSA
    learn topics from nine tenths of them, without their labels; the rest is scored.

    [bold]In Python[/bold]
      from topicfold import LDA, corpus
      docs = corpus.load_docs()
      train, test = corpus.train_test_documents(
          docs, test_size=0.1, random_state=0
      )
      model = LDA(30, random_state=0, n_jobs=-1).fit(train.counts)
      model.topic_data(train.vocabulary).top_terms()
      model.perplexity(test.counts)
    """
    from topicfold.cli.report import report_fit
    from topicfold.cli.topics import topic_rows, topic_table
    from topicfold.corpus import load_docs, train_test_documents
    from topicfold.persistence.model_folder import (
        check_output_folder,
        is_report,
        report_file,
    )

    output, topics, seed = given.output, given.topics, given.seed
    place = report_file(output)
    for name in _MODELS:
        check_output_folder(output / name, replace=True)
    show_fact("Read", "the docstrings of NumPy, SciPy and scikit-learn")
    with working("This takes some seconds the first time …"):
        docs = load_docs()
    show_corpus(docs)
    train, test = train_test_documents(docs, test_size=TEST_SHARE, random_state=seed)
    show_fact(
        "Split", f"{train.n_documents:,} to learn from, {test.n_documents:,} to score"
    )
    if is_report(place):
        place.unlink()  # of models that are replaced now
    fits = [
        _fit_one(name, train, test, output / name, topics, seed) for name in _MODELS
    ]
    shown = fits[0][1]
    page = report_fit(shown, place, train)
    data = shown.topic_data()
    title = f"The {data.n_topics} topics of {data.settings['model']}, largest first"
    console = stdout_console()
    console.print()
    console.print(topic_table(topic_rows(data, n_words=_WORDS), title=title))
    scores = [_score_unigram(train, test), *(cells for cells, _ in fits)]
    show_table(scores, f"{_LEGEND}\n", title="Comparison")
    for name in _MODELS:
        show_fact("Saved", str(output / name))
    first = output / _MODELS[0]
    show_next("topicfold topics {} -n 15", first)
    show_fact("", f"topicfold transform {first} YOUR_TEXTS.txt")
    show_fact("", "topicfold fit YOUR_TEXTS.txt -k 20 -o my-model")
    if page is not None:
        show_fact("Report", f"{page} (open it in a browser)")


def _fit_one(
    name: str, train: Corpus, test: Corpus, folder: Path, n_topics: int, seed: int
) -> tuple[dict[str, str], ModelFolder]:
    """Return the scores of a model, as a row of a table, and the model."""
    from topicfold.cli.fit import fit_model, make_model
    from topicfold.metrics import npmi_coherence, topic_diversity
    from topicfold.persistence.model_folder import save_folder

    model = make_model(
        name, {"n_components": n_topics, "random_state": seed, "n_jobs": -1}
    )
    _compile_kernels(model, train.counts)
    report = fit_model(model, train.counts)
    show_fact("Fit", report.summary)
    if report.interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)
    saved = inputs.fitted_folder(model, train, text={})
    save_folder(saved, folder)
    data = saved.topic_data()
    scores = {
        "model": type(model).__name__,
        "seconds": f"{report.seconds:.1f}",
        "perplexity": f"{model.perplexity(test.counts):,.0f}",
        "NPMI": f"{npmi_coherence(data.topics, train.counts).mean():.3f}",
        "diversity": f"{topic_diversity(data.topics, min(25, data.n_terms)):.2f}",
    }
    return scores, saved


def _compile_kernels(model: Any, X: Any) -> None:
    """Fit a copy on a few documents, so that no fit is timed with its compilation."""
    from sklearn.base import clone

    from topicfold.learn.loop import quiet

    few = clone(model).set_params(n_components=2, max_iter=1)
    began = time.perf_counter()
    with working("Loading kernels (compiled the first time) …"), quiet():
        few.fit(X[:_FEW])
    seconds = time.perf_counter() - began
    if seconds > _WORTH_SAYING:
        name = type(model).__name__
        show_fact("Compile", f"{name}: {seconds:.1f} s, the first time only")


def _score_unigram(train: Corpus, test: Corpus) -> dict[str, str]:
    """Score the model that has no topics: what the others are to be better than."""
    import numpy as np

    from topicfold.corpus import complete_split
    from topicfold.metrics import completion_perplexity, unigram

    _, held_out = complete_split(test.counts, random_state=0)
    words = unigram(train.counts)[None, :]
    theta = np.ones((test.n_documents, 1))
    perplexity = completion_perplexity(theta, words, held_out, smoothing=0)
    blank = dict.fromkeys(("seconds", "perplexity", "NPMI", "diversity"), "")
    return {"model": "no topics"} | blank | {"perplexity": f"{perplexity:,.0f}"}
