# SPDX-License-Identifier: BSD-3-Clause
"""Texts in, topics out: one object for people, over any model of topicfold."""

from __future__ import annotations

import dataclasses
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from topicfold import editing
from topicfold.core.tables import Table, html_table, text_table
from topicfold.core.typing import Array
from topicfold.corpus.inputs import Documents, as_documents
from topicfold.corpus.record import Corpus
from topicfold.corpus.vectorizing import (
    STOP_WORDS,
    cutting_options,
    vectorize,
)
from topicfold.exceptions import DataError
from topicfold.graph.embedding import check_same_encoder, encode, encoder_name
from topicfold.known import columns_in, known_data, model_for, with_times
from topicfold.models.base import embeddings_of
from topicfold.persistence.model_folder import (
    ModelFolder,
    known_of,
    load_model_folder,
    save_folder,
    text_to_save,
)
from topicfold.report import report_html, write_report
from topicfold.report.against import match_models
from topicfold.session import views
from topicfold.session.describing import Description, describe
from topicfold.session.fitting import (
    check_needs,
    fit_documents,
    label_texts,
    n_described,
    prepare_model,
    started_from,
    time_texts,
)
from topicfold.session.growing import updated
from topicfold.session.habits import answer_attribute, answer_parameters
from topicfold.session.languages import (
    count_languages,
    known_languages,
    languages_named,
)
from topicfold.session.naming import names_by
from topicfold.topic_data import NAME_RELEVANCE, TopicData

_logger = logging.getLogger("topicfold")
_COUNTING = (
    *("stop_words", "min_df", "max_df", "max_features"),
    *("ngram_range", "stem", "tokens", "phrases"),
)


class Topics(TransformerMixin, BaseEstimator):
    """Topics of texts: fit, view, search, edit, apply and save them.

    It counts the words, fits a model and keeps the documents with it. When printed, or
    shown in a notebook, it is a table of its topics. It is also a scikit-learn
    transformer from texts to mixtures of topics, so it can be the first step of a
    pipeline.

    Parameters
    ----------
    n_topics : int or None, default=None
        Number of topics; None is that of the estimator given as `model`, or otherwise
        as many as two fits to a sample agree on
        (:func:`topicfold.choosing.suggest_size`).
    model : str or estimator, default="lda"
        A name of :func:`topicfold.registry.models`, such as "lda", "ltm" or "fstm", or
        an estimator with parameters of your own, which is copied.
    stop_words, min_df, max_df, max_features, ngram_range, stem, tokens, phrases
        How texts become counts; see :func:`topicfold.corpus.vectorize`.
    about : sequence of str, mapping of str to str, or None, default=None
        What topics should be about: texts, or texts by the topics' names, whose vectors
        the `encoder` computes; or the vectors by name. These topics come first, and
        further topics are found as usual. `n_topics` is then their number unless you
        give it.
    encoder : object or None, default=None
        An object with a method ``encode(texts)`` that returns vectors: a
        SentenceTransformer, a model2vec model, … Documents with near vectors then share
        topics, in `fit` and later. It is not saved; give it to `load` again.
    random_state : int, default=0
        Seed; an estimator's own seed takes precedence.
    n_jobs : int, default=-1
        Threads, -1 for all. The result is the same for any number.
    **habits
        Names of the same parameters in other libraries: ``num_topics``, ``seed``,
        ``workers``, …

    Attributes
    ----------
    model_ : estimator
        The fitted model.
    data_ : TopicData
        Topics, mixtures and documents, for :mod:`topicfold.metrics` and others.
    update_ : Update
        After `update`: which topics drifted (``update_.topics``), which documents moved
        (``update_.moved``), and which were left out (``update_.known``).

    Examples
    --------
    >>> texts = ["red fox in a wood", "a fox, a wood", "blue sea", "fish in a blue sea"]
    >>> topics = Topics(2, min_df=1).fit(texts)
    >>> sorted(sorted(row["words"].split()[:2]) for row in topics.table())
    [['blue', 'sea'], ['fox', 'wood']]
    >>> topics.search("wood").names[0]
    '1'
    """

    def __init__(
        self,
        n_topics: int | None = None,
        model: Any = "lda",
        *,
        stop_words: str | Iterable[str] | None = STOP_WORDS,
        min_df: int | float = 2,
        max_df: int | float | None = None,
        max_features: int | None = None,
        ngram_range: Sequence[int] = (1, 1),
        stem: str | None = None,
        tokens: Any = "words",
        phrases: bool = False,
        about: Sequence[str] | Mapping[str, Any] | None = None,
        encoder: Any = None,
        random_state: int = 0,
        n_jobs: int | None = -1,
        **habits: Any,
    ) -> None:
        given = answer_parameters(habits)
        self.n_topics = given.get("n_topics", n_topics)
        self.model = model
        self.stop_words = stop_words
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.ngram_range = ngram_range
        self.stem = stem
        self.tokens = tokens
        self.phrases = phrases
        self.about = about
        self.encoder = encoder
        self.random_state = given.get("random_state", random_state)
        self.n_jobs = given.get("n_jobs", n_jobs)

    # Learning

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        text: str | Sequence[str] | None = None,
        label: str | None = None,
        time: Any = None,
        id: str | None = None,
        format: str | None = None,
        sheet: str | int | None = None,
        layer: str | None = None,
        vocabulary: Any = None,
        embeddings: Any = None,
        language: Any = None,
        **known: Any,
    ) -> Self:
        """Learn topics from documents.

        Parameters
        ----------
        X : iterable of str, data frame, path, lists of words, pairs or matrix
            Texts; a data frame (of pandas, Polars or Arrow) or the name of a file, with
            the columns below; lists of words; gensim's pairs of word and count; a
            matrix of counts; or an AnnData object.
        y : array-like of shape (n_documents,), optional
            Labels, None or "" where unknown. Models that need labels learn from them;
            the others only show them.
        text, label, time, id : str, optional
            Columns of a data frame or file; see :func:`topicfold.corpus.read_texts`.
            `time` may also be the time of each document, None where unknown.
        format : str, optional
            Format of a file, if its name does not tell; see
            :func:`topicfold.corpus.read`.
        sheet : str or int, optional
            Sheet of an Excel file, by its title or its number, from 1.
        layer : str, optional
            Layer of an AnnData object; see :func:`topicfold.corpus.from_anndata`.
        vocabulary : sequence of str, optional
            Words of the columns, if X holds counts.
        embeddings : array-like of shape (n_documents, n_dimensions), optional
            Vectors of the documents; default: those of the `encoder`, if there is one.
        language : str, list or dict, optional
            Column with the same text in another language, or with tags; it gets its own
            vocabulary. Several as a list, or with their stop words:
            ``{"de": "german"}``.
        **known
            What else is known of the documents: authors, response, features, labels,
            links, prevalence, content. A column of a data frame or file by its name, a
            list of names for features and prevalence; or the values, as the model's
            `fit` takes them. Several names in one cell are separated by ";". With the
            default model, the first of these chooses the model, as on the command line.
        """
        columns: dict[str, Any] = {"text": text, "label": label, "id": id}
        times = None if time is None or isinstance(time, str) else time
        columns["time"] = None if times is not None else time
        columns |= {"format": format, "sheet": sheet, "layer": layer}
        other = languages_named(language)
        columns |= {"extra": [*columns_in(known), *other] or None}
        found = as_documents(X, vocabulary=vocabulary, columns=columns)
        data = known_data(known, found.extra)
        check_needs(self.model, known)
        if y is not None:
            if label is not None:
                raise DataError(
                    f"labels are given twice: as y and by label={label!r}. Give one."
                )
            found = found._replace(labels=label_texts(y, found.n_documents, "fit(X, "))
        if times is not None:
            texts = time_texts(times, found.n_documents, "fit(X, time=")
            found = found._replace(times=texts)
        found = self._count(found)
        counts, first = found.counts, text if isinstance(text, str) else "text"
        spoken, cutting = count_languages(first, counts, other, found.extra, found.text)
        estimator, supervised, reason = prepare_model(
            model_for({**known, **({"language": other} if other else {})})
            if self.model == "lda"
            else self.model,
            n_described(self.about, self.n_topics),
            counts,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        vectors = self._vectors(found, embeddings, fitting=True)
        about = self.about, self.encoder
        with started_from(*about, estimator, counts, vectors):
            fit_documents(
                *(estimator, found),
                known=data,
                languages=spoken,
                embeddings=vectors,
                from_classes=supervised,
            )
        if vectors is not None and embeddings is None:
            estimator.encoder_ = encoder_name(self.encoder)
        known = known_of(found) | {"chosen": reason, "languages": cutting}
        return self._keep(ModelFolder(model=estimator, **known))

    def transform(
        self,
        X: Any,
        *,
        text: str | Sequence[str] | None = None,
        embeddings: Any = None,
        language: Any = None,
        **known: Any,
    ) -> Array:
        """Return the mixtures of topics of new documents, rows that sum to 1.

        Parameters
        ----------
        X : documents
            In any form that `fit` takes; words that the model does not have are left
            out.
        text : str, optional
            Column of the text, as in `fit`.
        embeddings : array-like of shape (n_documents, n_dimensions), optional
            Their vectors; default: those of the `encoder`, if there is one.
        language : str or list, optional
            Columns of the texts in other languages of the fit.
        **known
            What else is known of them, as in `fit`. Models that learned from times take
            those of a column named time, date, year or the like without being asked.
        """
        other = languages_named(language)
        wanted = [*columns_in(known), *other] or None
        found = as_documents(X, columns={"text": text, "extra": wanted})
        model, vectors = self._saved().model, self._vectors(found, embeddings)
        data = with_times(model, known_data(known, found.extra), found.times)
        data |= known_languages(self._saved(), other, found.extra)
        if vectors is not None:
            data["embeddings"] = vectors
        return np.asarray(model.transform(self._known_counts(found), **data))

    def update(
        self,
        X: Any,
        y: Any = None,
        *,
        refit: bool = False,
        new_topics: int = 0,
        embeddings: Any = None,
        **columns: Any,
    ) -> Self:
        """Add documents; topics keep their numbers, names and edits.

        Earlier documents keep their mixtures. The topics learn from the new documents
        and their new words. All earlier documents keep their weight, so a few new ones
        change a topic only a little. A model that learned from more than
        words (classes, authors, links, embeddings, …) keeps its topics, and the
        documents are only added. What changed is in ``update_``.

        Parameters
        ----------
        X : documents
            In any form that `fit` takes. Those whose ids the model already has are left
            out.
        y : array-like, optional
            Their labels.
        refit : bool, default=False
            Learn from all documents again, starting from the present topics. Topics and
            mixtures then change, and edits may be undone.
        new_topics : int, default=0
            Number of topics to learn from the new documents, in addition to the old
            ones; for documents that fit none (``update_.unlike``). They get the next
            free numbers.
        embeddings : array-like of shape (n_documents, n_dimensions), optional
            Their vectors, as in `transform`.
        **columns
            Columns of a data frame or file, as in `fit`.

        Examples
        --------
        >>> texts = ["red fox in a wood", "a fox, a wood", "blue sea", "fish, blue sea"]
        >>> topics = Topics(2, min_df=1).fit(texts).update(["a fox"])
        >>> topics.update_.n_added, len(topics.update_.moved)
        (1, 0)
        """
        old, new = self._saved(), as_documents(X, columns=columns)
        if y is not None:
            new = new._replace(labels=label_texts(y, new.n_documents, "update(X, "))
        new = new._replace(embeddings=self._vectors(new, embeddings))
        added = self._known_counts(new)
        self.update_ = updated(
            old, new, added, self._cutting(), refit=refit, new_topics=new_topics
        )
        for head, text in self.update_.lines():
            if head in ("Left out", "Labels", "Times"):
                _logger.warning("%s: %s", head, text)
        return self._keep(self.update_.folder)

    # Looking

    def table(self, n_words: int = 10, relevance: float = NAME_RELEVANCE) -> Table:
        """Return the topics, largest first, with their words and main classes.

        Parameters
        ----------
        n_words : int, default=10
            Words per topic.
        relevance : float, default=0.6
            1 lists the most probable words, smaller values words that other topics do
            not have.
        """
        return Table(self._record().records(n_words, relevance))

    def words(self, topic: int, n: int = 20) -> Table:
        """Return the words of a topic, the most relevant first.

        Relevant words are frequent in the topic (``probability``) and have a large
        ``share of its uses``: how many of a word's occurrences belong to this topic.
        """
        return views.word_table(self._record(), topic, n)

    def documents(self, topic: int, n: int = 5) -> Table:
        """Return the most typical documents of a topic, with their shares.

        They have a large share of the topic in many words, as in the report: two words
        that are both of the topic do not make a typical document. Of all documents,
        `to_frame` has the shares.
        """
        return views.document_table(self._with_documents(), topic, n)

    def main_topics(self, least: float = 0.0) -> Table:
        """Return the main topic of every document: its number, name and share.

        Parameters
        ----------
        least : float in [0, 1], default=0.0
            Share that a main topic must have. If the largest topic of a document has
            less, the document is clearly about none, and its ``topic`` is None.

        Examples
        --------
        >>> texts = ["red fox in a wood", "a fox, a wood", "blue sea", "fish, blue sea"]
        >>> topics = Topics(2, min_df=1).fit(texts)
        >>> [row["topic"] is None for row in topics.main_topics(least=1.0)]
        [True, True, True, True]
        """
        return views.main_topic_table(self._with_documents(), least)

    def search(
        self,
        query: str,
        n: int = 10,
        mix: float | None = None,
        *,
        embeddings: Any = None,
    ) -> Any:
        """Return the documents nearest to a text, by topics and by words.

        Where the documents and the text have embeddings, these are compared too.

        Parameters
        ----------
        query : str
            Any text.
        n : int, default=10
            Maximum number of documents to return.
        mix : float in [0, 1] or None, default=None
            Weight of shared words: 0 compares only by meaning, 1 only by words. None is
            0.5 if the words of the documents are known, and 1/3 with embeddings.
        embeddings : array-like of shape (n_dimensions,), optional
            Vector of the text; default: that of the `encoder`, if there is one.

        Returns
        -------
        topicfold.search.Hits
            Names, scores, titles and passages; it shows itself as a table.
        """
        self._with_documents()
        vectors = self.encoder, embeddings
        found = self.fitted_, query, n, mix, self._cutting()
        return views.find_documents(*found, *vectors)

    def over_time(self, times: Any = None) -> Table:
        """Return the share of every topic in the words of every period.

        Longer documents count for more, as in the sizes of topics; `effects` estimates
        means over documents, whatever their lengths.

        Parameters
        ----------
        times : array-like of shape (n_documents,), optional
            Dates or numbers; default: those that `fit` was given.
        """
        n_documents = self._with_documents().n_documents
        if times is not None:
            texts = time_texts(times, n_documents)
            self._keep(dataclasses.replace(self._saved(), times=texts))
        return views.time_table(self.data_, self._saved().times)

    def by_class(self, labels: Any = None) -> Table:
        """Return the mean mixture of the documents of every class.

        Parameters
        ----------
        labels : array-like of shape (n_documents,), optional
            Classes; default: those that `fit` was given.
        """
        n_documents = self._with_documents().n_documents
        if labels is not None:
            found = label_texts(labels, n_documents)
            self._keep(dataclasses.replace(self._saved(), labels=found))
        return views.class_table(self.data_)

    def effects(self, formula: str, data: Any = None, **options: Any) -> Any:
        """Estimate effects of covariates on the shares of topics, with intervals.

        Parameters
        ----------
        formula : str
            Covariates, such as ``"~ treatment + s(date) | city"``; see
            :func:`topicfold.effects.estimate_effect`.
        data : data frame or mapping of columns, optional
            A row per document; default: the columns ``label`` and ``time`` that `fit`
            was given.
        **options
            Those of `estimate_effect`.

        Returns
        -------
        topicfold.effects.Effects
            It shows itself as a table; ``.plot()`` draws it.
        """
        from topicfold.effects import estimate_effect

        if data is None:
            data = views.known_columns(self._with_documents())
        return estimate_effect(self, formula, data, **options)

    def plot(self, kind: str = "words", path: Any = None, **options: Any) -> Any:
        """Draw a figure of matplotlib, and save it to `path` if given.

        `kind` is "words", "map", "time", "classes" or "similarity"; `options` are
        those of the function in :mod:`topicfold.plotting`. Colours, order and the map
        are those of the report. The figure's ``data`` is a table of what it shows.
        """
        from topicfold.plotting import plot

        return plot(self._record(), kind, path, **options)

    def figures(self, folder: Any) -> list[Path]:
        """Write every figure as SVG and PDF with its data as CSV; return the files."""
        from topicfold.plotting import save_figures

        return save_figures(self._record(), folder)

    def report(
        self,
        path: Any = "report.html",
        *,
        against: Any = None,
        effects: Any = None,
        **options: Any,
    ) -> Path:
        """Write the report, one HTML file that opens offline.

        Parameters
        ----------
        path : str or path, default="report.html"
            The file.
        against : Topics, TopicData or path, optional
            Another model, to be compared with this one in the report; see `compare`.
        effects : Effects, optional
            What `effects` returned, to be shown with intervals.
        **options
            Those of :func:`topicfold.report.write_report`.
        """
        other = None if against is None else _record_of(against)
        counts = self.renumber()._saved().counts
        options = {"counts": counts, "against": other} | options
        data = self._record()
        if effects is not None:
            sides = (*data.sides, effects.side_table())
            data = dataclasses.replace(data, sides=sides)
        return write_report(data, path, **options)

    def describe(self) -> Description:
        """Return a paragraph on methods for a paper, and BibTeX of what it cites.

        It states which model was fitted to which data, how many topics there are and
        how the number was chosen, how texts were turned into counts and how much was
        left out, priors, iterations, seed, edits and versions. It prints as both parts;
        ``.text`` and ``.bibtex`` are the single ones.

        Examples
        --------
        >>> texts = ["red fox in a wood", "a fox, a wood", "blue sea", "fish, blue sea"]
        >>> print(Topics(2, min_df=1).fit(texts).describe().text[:56])
        We fitted LDA (latent Dirichlet allocation; Blei et al.,
        """
        return describe(self._saved(), self._record())

    def stability(self, n_restarts: int = 5) -> Table:
        """Return how much of every topic is found again by fits with other seeds.

        The model is fitted `n_restarts` times. A topic's ``stability`` is the mean
        probability that it shares with its counterparts, 0 to 1, ``least`` the smallest
        one, and ``found`` says how many fits share at least half of it.

        Parameters
        ----------
        n_restarts : int, default=5
            Fits.
        """
        return views.stability_table(self._saved(), self._record(), n_restarts)

    def explore(self, height: int = 700, **options: Any) -> Any:
        """Show the report in the output cell of a notebook; offline.

        `options` are those of :func:`topicfold.report.write_report`; texts are
        shortened so that the notebook grows by 3 MB at most (``size_limit=``).
        """
        from topicfold.plotting import Page

        counts = self.renumber()._saved().counts
        options = {"counts": counts, "size_limit": 3_000_000} | options
        return Page(report_html(self._record(), **options), height)

    def map(self, height: int = 700, **options: Any) -> Any:
        """Show the interactive map of the documents in a notebook; see `explore`."""
        self._with_documents()
        return self.explore(height, start="map", **options)

    def compare(self, other: Any) -> Table:
        """Return which topics of another model are the same as those of this one.

        A row per topic: its counterpart, how similar they are (1 for the same words and
        documents, 0 for none in common), and the words that both have or only one has.

        Parameters
        ----------
        other : Topics, TopicData or path
            Another model, preferably of the same documents.
        """
        data, record = self._record(), _record_of(other)
        table = Table(match_models(data, record).records())
        for row in table:
            for name, side in (("topic", data), ("other", record)):
                row[name] = None if row[name] is None else side.numbers[row[name]]
        return table

    # Editing

    def rename(
        self,
        names: Mapping[int, str] | int | str | Callable[[list[str], list[str]], str],
        name: str | None = None,
    ) -> Self:
        """Name topics: ``rename({3: "space"})`` or ``rename(3, "space")``.

        A function can name them all: ``rename(ask)`` calls ``ask(words, documents)``
        with the ten words of each topic and the texts of its five main documents, and
        takes the name that it returns. It may ask a language model. This library has
        none, but :func:`topicfold.session.naming_prompt` writes a question for one.
        ``rename("phrases")`` names topics by the two neighbouring words that are most
        typical of their texts, ``rename("words")`` by their words, as at first.

        Examples
        --------
        >>> texts = ["red fox in a wood", "a fox, a wood", "blue sea", "fish, blue sea"]
        >>> topics = Topics(2, min_df=1).fit(texts)
        >>> topics.rename(lambda words, documents: " and ".join(sorted(words[:2])))
        LDA: 2 topics, 4 documents
        ...
        """
        if name is None and (callable(names) or isinstance(names, str)):
            names = names_by(self._record(), names, self._saved().text)
        if not isinstance(names, Mapping):
            number: Any = names  # what is no number is refused with its name
            if isinstance(number, list | tuple):
                raise DataError(
                    "rename takes names by topic, not a list, such as "
                    'rename({3: "space"}). For a list with a name per topic give '
                    "rename(dict(enumerate(names)))."
                )
            if name is None:
                raise DataError(
                    f"rename({number!r}) has no name. Give one, such as "
                    f'rename({number!r}, "space"); "" is the words of the topic.'
                )
            names = {number: name}
        return self._edited(editing.rename_topics(self._saved().model, names))

    def merge(self, topics: Sequence[int], name: str = "") -> Self:
        """Make one topic of several; it has the smallest of their numbers."""
        if isinstance(topics, int | np.integer | str):
            raise DataError("topics to merge are given as a list, such as [1, 4].")
        return self._edited(
            editing.merge_topics(self._saved().model, topics, name=name)
        )

    def drop(self, topics: Sequence[int] | int) -> Self:
        """Remove topics; the others keep their numbers."""
        one = isinstance(topics, int | np.integer | str)
        chosen: Any = [topics] if one else topics
        return self._edited(editing.drop_topics(self._saved().model, chosen))

    def split(self, topic: int, n_topics: int = 2) -> Self:
        """Split a topic; parts after the first get the next free numbers."""
        counts = self._saved().counts
        if counts is None:
            raise DataError(
                "a split needs the documents, and the model has none. Fit it again "
                "and save it with its documents."
            )
        return self._edited(
            editing.split_topic(self._saved().model, topic, counts, n_topics=n_topics)
        )

    def renumber(self) -> Self:
        """Number topics 0, 1, 2, … again, in the order of the rows of ``data_.topics``.

        Topics keep their numbers through all edits. `save`, `report`, `explore` and
        `map` renumber them, so that files, pages and this object agree.
        """
        model = self._saved().model
        changed = editing.renumber_topics(model)
        return self if changed is model else self._edited(changed)

    def edit_log(self) -> dict[str, Any]:
        """Return the edits made to the topics, for `apply_edits`; JSON can hold them.

        It is saved with the model. ``topicfold info --log`` writes the same.
        """
        return editing.edit_log(self._saved().model)

    def apply_edits(self, log: Mapping[str, Any]) -> Self:
        """Make edits again that were made to the topics of the same model.

        Parameters
        ----------
        log : mapping
            The result of `edit_log`, or the file of edits that the report saved.
        """
        saved = self._saved()
        edits = editing.edits_of(log, saved.model)
        return self._edited(editing.apply_edits(saved.model, edits, X=saved.counts))

    # Keeping

    def save(self, path: str | os.PathLike[str], *, documents: bool = True) -> Path:
        """Save everything as a folder, which the command line reads too.

        Parameters
        ----------
        path : str or path
            A folder, or a file ending in ``.safetensors``.
        documents : bool, default=True
            Whether texts and counts are saved; without them there is no search by
            words, no `update` and no `split` after loading.
        """
        saved = self.renumber()._saved()
        saved = dataclasses.replace(saved, text=text_to_save(saved.text))
        if not documents:
            saved = dataclasses.replace(saved, texts=None, counts=None)
        return save_folder(saved, path)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, tokens: Any = "words", encoder: Any = None
    ) -> Self:
        """Load a model that `save`, ``model.save`` or the command line saved.

        Parameters
        ----------
        path : str or path
            The folder or file.
        tokens : callable, optional
            The function that split the texts, if you used one: functions named in a
            file are never called.
        encoder : object, optional
            The encoder of the fit, for vectors of new texts. One that makes another
            vector of a stored text is warned of.
        """
        saved = load_model_folder(path)
        if not hasattr(saved.model, "topic_data"):
            raise DataError(
                f"{path} holds a {type(saved.model).__name__}, which has no topics to "
                "show. Load it with topicfold.load."
            )
        topics = cls(len(saved.model.components_), model=clone(saved.model))
        topics.tokens = tokens
        topics.encoder = encoder
        if encoder is not None:
            made_by = getattr(saved.model, "encoder_", None)
            rows = embeddings_of(saved.model)
            check_same_encoder(encoder, rows, saved.texts, made_by)
        return topics._keep(saved)

    def to_frame(self) -> Any:
        """Return a pandas data frame: a row per document, a column per topic.

        The first columns are what is known: id, text, time, label and the number of the
        main topic, the largest of the mixture.
        """
        return views.mixture_frame(self._with_documents())

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the columns of `transform`."""
        return np.array([f"topic{number}" for number in self._record().numbers], object)

    # Showing

    def __repr__(self) -> str:
        if not hasattr(self, "fitted_"):
            return str(super().__repr__())
        return f"{self._title()}\n{text_table(self.table(8))}"

    def _repr_html_(self) -> str:
        if not hasattr(self, "fitted_"):
            return f"<pre>{super().__repr__()}</pre>"
        return html_table(self.table(), self._title())

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _title(self) -> str:
        from topicfold.core.counts import words_if_short

        data = self.data_
        saved = self._saved()
        kind = type(saved.model).__name__
        topics = "1 topic" if data.n_topics == 1 else f"{data.n_topics} topics"
        title = f"{kind}: {topics}, {data.n_documents:,} documents"
        if kind == "LDA" and saved.counts is not None and words_if_short(saved.counts):
            title += '; texts are short, try model="short" too'
        return title

    def __getattr__(self, name: str) -> Any:
        raise answer_attribute(name)

    # Parts

    def _saved(self) -> ModelFolder:
        check_is_fitted(self, "fitted_")
        return self.fitted_

    def _keep(self, saved: ModelFolder) -> Self:
        """Hold a fitted model and its documents."""
        self.fitted_ = saved
        self.model_ = saved.model
        self.data_: TopicData = saved.topic_data()
        return self

    def _edited(self, model: Any) -> Self:
        return self._keep(dataclasses.replace(self._saved(), model=model))

    def _record(self) -> TopicData:
        check_is_fitted(self, "fitted_")
        return self.data_

    def _with_documents(self) -> TopicData:
        """Return the record; refuse a model that has no documents."""
        if self._record().doc_topics is None:
            raise DataError(
                "the model learned from a stream and has no documents. Use fit."
            )
        return self.data_

    def _vectors(self, found: Documents, given: Any, *, fitting: bool = False) -> Any:
        """Return the vectors of documents: given, encoded, or None."""
        if given is not None or self.encoder is None:
            return given
        model = None if fitting else self._saved().model
        if fitting or hasattr(model, "sharing_") or hasattr(model, "embeddings_"):
            return encode(self.encoder, found.texts)
        return None

    def _count(self, found: Documents) -> Documents:
        """Return documents with counts, words and the options that made them."""
        if found.counts is not None:
            return found
        options = {name: getattr(self, name) for name in _COUNTING}
        options |= found.text or {}
        seeds = getattr(self.model, "seeds", None) or {}
        if seeds:
            options["keep"] = [word for own in seeds.values() for word in own]
        made = Corpus.from_texts(found.texts or [], labels=found.labels, **options)
        counted = {"counts": made.counts, "vocabulary": made.vocabulary}
        return found._replace(**counted, text=made.text)

    def _cutting(self) -> dict[str, Any]:
        """Return how new texts are cut: as those of the fit."""
        text = dict(self._saved().text or {})
        if callable(self.tokens):
            text["tokens"] = self.tokens
        return cutting_options(text)

    def _known_counts(self, found: Documents) -> Any:
        """Return the counts of documents in the words of the model."""
        words = self._saved().vocabulary
        if found.counts is None:
            return vectorize(found.texts or [], vocabulary=words, **self._cutting())[0]
        if found.counts.shape[1] != len(words or ()):
            raise DataError(
                f"the matrix has {found.counts.shape[1]} columns, the model has "
                f"{len(words or ())} words. Count with the model's vocabulary."
            )
        return found.counts


def _record_of(other: Any) -> TopicData:
    """Return the record of another model: fitted here, or saved."""
    if isinstance(other, str | os.PathLike):
        other = Topics.load(other)
    if not isinstance(other, Topics | TopicData):
        raise DataError(
            f"against= takes another model, and got a {type(other).__name__}. Give "
            "fitted Topics or the folder of a saved model."
        )
    return other._record() if isinstance(other, Topics) else other
