# SPDX-License-Identifier: BSD-3-Clause
"""``topicfold convert``: a corpus from one format to another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from topicfold.cli import flags, inputs
from topicfold.cli.console import CommandError, show_corpus, show_fact
from topicfold.cli.flags import Flags, flag, takes_flags

if TYPE_CHECKING:
    from topicfold.corpus import Corpus, DiskCorpus

_Output = Annotated[
    Path, typer.Argument(metavar="OUT", help="File or folder to write.")
]


class _Flags(Flags):
    to: str | None = flag(
        "Format of OUT: ldac, uci, mm, svmlight, mallet, npz, folder, jsonl, blocks.",
        None,
        "--to",
        metavar="FORMAT",
        show_default="inferred from its name",
    )
    force: bool = flag("Replace OUT if it exists.", False)
    quiet: bool = flags.QUIET


@takes_flags()
def convert(
    source: flags.InputArgument,
    output: _Output,
    *,
    given: _Flags,
    options: inputs.TextOptions,
) -> None:
    """Convert a corpus from one format to another.

    Texts become counts: from a folder of .txt files, .txt (one document per line),
    .csv, .tsv, .jsonl or .parquet to any format of counts. Counts go both ways, without
    loss, between

      ldac      LDA-C (.ldac)
      uci       UCI bag of words (.uci, docword.NAME.txt)
      mm        MatrixMarket (.mtx)
      svmlight  SVMlight, LIBSVM (.svmlight, .svm, .libsvm)
      mallet    MALLET's import-file text: id label word word ... (.mallet)
      npz       SciPy's sparse matrix (.npz)
      folder    counts.npz, vocab.txt and more (a name without suffix)

    Words, labels and ids that a format cannot hold are written beside it, one per
    line: OUT.vocab, OUT.labels, OUT.ids. Texts can also become jsonl, and blocks: a
    matrix on disk for texts larger than memory, which topicfold fit reads.

    [bold]Examples[/bold]
      topicfold convert ap.ldac ap.mtx
      topicfold convert reviews.csv reviews.svmlight --text body --label stars
      topicfold convert huge.jsonl.gz huge --to blocks --min-df 20

    [bold]In Python[/bold]
      from topicfold import corpus
      words = {"stop_words": "english"}
      docs = corpus.read("reviews.csv", text="body", label="stars", **words)
      corpus.write(docs, "reviews.svmlight")
      corpus.vectorize_file("huge.jsonl.gz", "huge", min_df=20, **words)
    """
    from topicfold import corpus
    from topicfold.corpus.files import WRITTEN, check_format, check_free, format_of

    to, force = given.to or format_of(output, written=True), given.force
    if to == "blocks":
        found = _to_blocks(source, output, options, given)
    else:
        check_format(to, WRITTEN)
        check_free(output, replace=force)
        found, _ = inputs.read_corpus(source, options, quiet=given.quiet)
        if not isinstance(found, corpus.Corpus):
            names = ("vocabulary", "labels", "ids", "times", "name")
            known: dict[str, Any] = {name: getattr(found, name) for name in names}
            found = corpus.Corpus(counts=found.counts[:], **known)
        corpus.write(found, output, format=to, replace=force)
    if not given.quiet:
        show_corpus(found)
        show_fact("Saved", str(output))


def _to_blocks(
    source: str, output: Path, options: inputs.TextOptions, given: _Flags
) -> Corpus | DiskCorpus:
    """Count texts into a folder of blocks, without keeping them in memory."""
    from topicfold import corpus

    if inputs.is_built_in(source, options):
        raise CommandError(
            f"blocks are made of a file or folder of texts, and {source} is the "
            f"built-in corpus. Write its texts first: topicfold convert {source} "
            f"{source}.jsonl."
        )
    kind = options.text_format(source)
    if kind is None:
        raise CommandError(
            f"{source} holds counts; blocks are made of texts. In Python: "
            "topicfold.corpus.blocks.BlockMatrix.write(folder, counts)."
        )
    with inputs.reading_progress(source, quiet=given.quiet) as progress:
        return corpus.vectorize_file(
            source,
            output,
            overwrite=given.force,
            format=kind,
            progress=progress,
            **options.reading(),
            **inputs.with_function(options.vectorizing()),
        )
