# SPDX-License-Identifier: BSD-3-Clause
"""An index of documents in the latent space of a model."""

from __future__ import annotations

import difflib
import os
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from topicfold.core.counts import best_places, check_counts
from topicfold.core.parameters import topic_number, whole_number
from topicfold.core.threads import n_threads
from topicfold.core.typing import Doubles
from topicfold.corpus.vectorizing import cutting_options
from topicfold.exceptions import DataError, DataWarning, ModelFileError
from topicfold.graph.embedding import Rows, check_embeddings, encode
from topicfold.models.lsi import LSI
from topicfold.persistence import SavedEstimator, read_estimator, save_estimator
from topicfold.persistence.bundle import pack_counts, unpack_counts
from topicfold.persistence.model_folder import text_to_save
from topicfold.search.ranking import (
    Hits,
    check_measure,
    exact_scores,
    find_best,
    joint_shares,
    latent_form,
    longest_row,
    query_form,
    stored_form,
    term_vectors,
)
from topicfold.search.words import (
    LEXICAL,
    BeyondWords,
    LexicalScores,
    check_counts_row,
    count_text,
    find_word,
    left_out_note,
    mixed,
    occurrences,
    unknown_words,
)


class TopicIndex:
    """Find documents by meaning: by a model's latent vectors, not by shared words.

    A query is one exact pass over all documents, O(D·K) in time. Memory is 4 bytes per
    number of D × K; scores by words need the counts, too.

    Parameters
    ----------
    model : estimator
        A fitted model of topicfold: :class:`~topicfold.LSI` or any topic model.
    vocabulary : sequence of str or None, default=None
        Words of the columns, for queries by text; default: the feature names that the
        model saw in `fit`.
    text : mapping or None, default=None
        Options of :func:`topicfold.corpus.vectorize` that made the model's counts; of
        these, stop_words, ngram_range, stem and tokens determine how queries are split.
    measure : {"cosine", "inner", "hellinger", "kl"} or None, default=None
        Similarity of a query q and a document d, larger is nearer: the cosine, q·d,
        ``Σ √(q_k d_k)`` or ``-KL(q ‖ d)``. The last two are for mixtures. None is
        "cosine" for LSI and "hellinger" for the others.
    lexical : {"bm25", "tfidf"} or None, default=None
        Scores by words that `query` can mix in; the index then keeps the counts of all
        documents.
    encoder : object, function or None, default=None
        An encoder of texts, with ``encode(texts)``, for a model that was fitted with
        embeddings; without it, queries are compared by their words.
    n_jobs : int or None, default=None
        Threads; None is 1, -1 all. The result is the same for any number.

    Examples
    --------
    >>> from topicfold import LSI
    >>> from topicfold.search import TopicIndex
    >>> words = ["car", "auto", "motor", "sea", "fish"]
    >>> X = [[1, 0, 1, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 1, 1], [0, 0, 0, 2, 1]]
    >>> model = LSI(2, weighting="counts").fit(X)
    >>> index = TopicIndex(model, vocabulary=words).add(X, ids=["a", "b", "c", "d"])
    >>> index.query("car", n=2).names
    ('a', 'b')
    >>> index.similar_terms("car", n=2).names
    ('auto', 'motor')
    """

    def __init__(
        self,
        model: Any,
        *,
        vocabulary: Sequence[str] | None = None,
        text: Mapping[str, Any] | None = None,
        measure: str | None = None,
        lexical: str | None = None,
        encoder: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        check_is_fitted(model)
        if not hasattr(model, "components_") or not hasattr(model, "transform"):
            raise DataError(
                f"a {type(model).__name__} has no latent space to search in. Give a "
                "fitted LSI or topic model."
            )
        if lexical is not None and lexical not in LEXICAL:
            raise DataError(
                f"lexical={lexical!r} is not known. Choose one of: "
                f"{', '.join(LEXICAL)}, or None."
            )
        self.model = model
        self.measure = check_measure(measure, model)
        self.lexical = lexical
        self.encoder = encoder
        self.n_jobs = n_jobs
        self.text = text
        self.vocabulary = self._checked_vocabulary(vocabulary)
        self._columns = {w: i for i, w in enumerate(self.vocabulary or ())}
        n_components, self.n_terms = model.components_.shape
        self.documents = DocumentStore(
            n_components, self.n_terms, counts=lexical is not None
        )
        self._words: LexicalScores | None = None

    def __len__(self) -> int:
        return len(self.documents)

    def __repr__(self) -> str:
        return (
            f"TopicIndex({type(self.model).__name__}, {len(self)} documents, "
            f"{self.measure})"
        )

    def add(
        self,
        X: Any = None,
        *,
        vectors: Any = None,
        ids: Sequence[str] | None = None,
        texts: Sequence[str] | None = None,
        embeddings: Any = None,
    ) -> Self:
        """Add documents; the model is not changed.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_documents, n_terms), optional
            Counts, in the columns of the model. They are transformed by the model.
        vectors : array-like of shape (n_documents, n_components), optional
            Instead of X: the result of ``model.transform``, or ``model.doc_topics_``.
            Together with X: these vectors, and X for the scores by words.
        ids : sequence of str, optional
            Names of the documents, all different; default: their rows in the index.
        texts : sequence of str, optional
            Texts of the documents, kept for words of queries that the model does not
            have because they were too frequent or too rare.
        embeddings : array-like of shape (n_documents, n_dimensions), optional
            Vectors of the documents, for a model that was fitted with them. If all
            documents have vectors and there is an encoder, texts are searched by topics
            and vectors, with half the weight each.
        """
        if X is None and vectors is None:
            raise DataError("there is nothing to add. Give X, or vectors=.")
        if X is None and self.lexical is not None:
            raise DataError(
                f"lexical={self.lexical!r} needs the documents' counts. Give X."
            )
        known = {} if embeddings is None else {"embeddings": embeddings}
        latent = self.model.transform(X, **known) if vectors is None else vectors
        latent = self.documents.check_vectors(latent)
        self.documents.append(
            stored_form(latent, self.measure),
            np.abs(latent).sum(axis=0),
            ids,
            X,
            texts,
            None if embeddings is None else check_embeddings(embeddings, len(latent)),
        )
        self._words = None
        return self

    def add_texts(
        self, texts: Iterable[str], *, ids: Sequence[str] | None = None
    ) -> Self:
        """Add documents given as texts, which are kept; see `add`.

        Parameters
        ----------
        texts : iterable of str
            The documents.
        ids : sequence of str, optional
            Names of the documents.
        """
        from topicfold.corpus import vectorize

        words, texts = self._needed_vocabulary(), list(texts)
        counts, _ = vectorize(texts, vocabulary=words, **cutting_options(self.text))
        return self.add(counts, ids=ids, texts=texts)

    def query(
        self,
        query: Any = None,
        *,
        vector: Any = None,
        document: int | str | None = None,
        topic: int | None = None,
        word: str | None = None,
        n: int = 10,
        mix: float = 0.0,
        embeddings: Any = None,
    ) -> Hits:
        """Return the documents nearest to a query; give exactly one of the first five.

        Parameters
        ----------
        query : str or row of counts, optional
            A text, or counts of the model's terms.
        vector : array-like of shape (n_components,), optional
            Coordinates or a mixture of topics.
        document : int or str, optional
            Row or name of an indexed document; it is not among the results itself.
        topic : int, optional
            A topic, or a dimension of LSI.
        word : str, optional
            A word: with a topic model its topics ``p(k|w)``, with LSI the document
            that has only this word.
        n : int, default=10
            Maximum number of documents to return.
        mix : float in [0, 1], default=0.0
            Weight of the scores by words: the result is ``(1 - mix)`` times the latent
            score plus `mix` times the lexical one, both scaled to [0, 1] over all
            documents.
        embeddings : array-like of shape (1, n_dimensions), optional
            Vector of the text `query`, by the encoder of the documents' embeddings;
            default: that of the `encoder`, if there is one.

        Returns
        -------
        Hits
            Best first; equal ones in the order of the index.

        Raises
        ------
        DataError
            If the query is empty, has only unknown words, or nothing is indexed.
        """
        whole_number(n, "n")
        if not 0 <= mix <= 1:
            raise DataError(f"mix must be in [0, 1]. Got {mix!r} instead.")
        if mix > 0 and self.lexical is None:
            raise DataError(
                "mix needs scores by words. Make the index with lexical='bm25' or "
                "lexical='tfidf'."
            )
        documents = self.documents
        if not len(documents):
            raise DataError("the index has no documents yet. Add some with add().")
        names = "query", "vector", "document", "topic", "word"
        values = query, vector, document, topic, word
        given = {n: v for n, v in zip(names, values, strict=True) if v is not None}
        if len(given) != 1:
            raise DataError(
                f"give exactly one of {', '.join(names)}; got {list(given) or 'none'}."
            )
        ((kind, value),) = given.items()
        vectors = self._query_vector(kind, value, embeddings)
        asked = None if vectors is None or not vectors.any() else vectors[0]
        asked = None if documents.embeddings is None else asked
        if asked is not None and not self._knows(str(query)):
            scores = (documents.embeddings @ asked).astype(np.float64)
            rows = best_places(scores, n)
            return Hits(rows, scores[rows], documents.names(rows))
        latent, counts, more = self._resolve(kind, value, mix > 0, vectors)
        skip = documents.find(document) if document is not None else -1
        factor, constant = query_form(latent, self.measure)
        threads = n_threads(self.n_jobs)
        if mix > 0 or asked is not None:
            scores = exact_scores(documents.vectors, factor, threads=threads) + constant
            if asked is not None:  # topics and vectors say more than either alone
                scores = mixed(scores, documents.embeddings @ asked, 0.5)
            if mix > 0:
                by_words = self._word_scores(counts, more.counts)
                scores = mixed(scores, by_words, mix)
            if skip >= 0:
                scores[skip] = -np.inf
            rows = best_places(scores, min(n, len(scores) - (skip >= 0)))
            scores = scores[rows]
        else:
            rows, scores = find_best(
                documents.vectors,
                factor,
                n,
                longest=documents.longest,
                skip=skip,
                threads=threads,
            )
            scores = scores + constant
        return Hits(rows, scores, documents.names(rows), note=more.note)

    def _query_vector(self, kind: str, value: Any, given: Any) -> Rows | None:
        """Return the vector of a text as a row: given, encoded, or None."""
        rows = self.documents.embeddings
        embedded = rows is not None or self._embedded()
        is_text = kind == "query" and isinstance(value, str)
        if given is not None and not (is_text and embedded):
            wrong = "these documents have none" if is_text else f"this is a {kind}"
            raise DataError(
                "embeddings= is the vector of the query's text and is compared with "
                f"those of the documents, but {wrong}. Leave it out."
            )
        if not is_text or not embedded or not value.strip():
            return None
        if given is None and self.encoder is None:
            return None
        if given is None:
            given = encode(self.encoder, [value])
        width = None if rows is None else rows.shape[1]
        row = np.atleast_2d(given) if np.ndim(given) == 1 else given
        return check_embeddings(row, 1, width)

    def _embedded(self) -> bool:
        """Whether the model was fitted with embeddings."""
        return any(hasattr(self.model, name) for name in ("sharing_", "embeddings_"))

    def similar_terms(self, word: str, n: int = 10) -> Hits:
        """Return the terms nearest to a term, by the same measure as documents.

        A term is its row of ``V Σ`` in LSI, and ``p(k|w)`` in a topic model with the
        indexed documents' topic shares (equal shares for an empty index).

        Parameters
        ----------
        word : str
            A word of the vocabulary.
        n : int, default=10
            Maximum number of terms to return; the word itself is not among them.
        """
        whole_number(n, "n")
        words = self._needed_vocabulary()
        column = find_word(word, self._columns)
        latent = term_vectors(self.model, self.documents.mass)
        factor, constant = query_form(latent[column], self.measure)
        columns, scores = find_best(
            stored_form(latent, self.measure),
            factor,
            n,
            skip=column,
            threads=n_threads(self.n_jobs),
        )
        names = tuple(words[place] for place in columns.tolist())
        return Hits(columns, scores + constant, names)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Save the index with its model in one file, without pickle.

        :func:`topicfold.load` reads the model alone from it.

        Parameters
        ----------
        path : str or path
            A file ending in ``.safetensors``, or a folder.
        """
        documents = self.documents
        arrays: dict[str, Any]
        arrays = {"index_vectors": documents.vectors, "index_mass": documents.mass}
        if documents.keeps_counts and len(documents):
            arrays |= pack_counts(documents.counts, "index_counts")
        if documents.embeddings is not None:
            arrays["index_embeddings"] = documents.embeddings
        strings = {"vocabulary": self.vocabulary, "index_ids": documents.ids}
        strings["index_texts"] = documents.texts
        return save_estimator(
            self.model,
            path,
            extra_arrays=arrays,
            extra_strings={k: list(v) for k, v in strings.items() if v is not None},
            extra_meta={
                "index": {"measure": self.measure, "lexical": self.lexical},
                "text": text_to_save(self.text),
            },
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, n_jobs: int | None = None) -> Self:
        """Load an index and its model.

        Parameters
        ----------
        path : str or path
            What `save` wrote.
        n_jobs : int or None, default=None
            Threads.

        Raises
        ------
        ModelFileError
            If the file cannot be read, is damaged, or holds no index.
        """
        saved = read_estimator(path)
        text = saved.meta.get("text")
        if not isinstance(text, dict | None):
            raise ModelFileError(
                f"{Path(path)} is damaged: its options of texts are not a mapping. "
                "Save the index again."
            )
        if not has_index(saved):
            raise ModelFileError(
                f"{Path(path)} holds a model, but no index of documents. Make one with "
                "TopicIndex(model, vocabulary=words).add(X), and save it."
            )
        try:
            index = cls(
                saved.model,
                vocabulary=saved.strings.get("vocabulary"),
                text=text,
                measure=saved.meta["index"]["measure"],
                lexical=saved.meta["index"]["lexical"],
                n_jobs=n_jobs,
            )
            index._restore_documents(saved)
        except (DataError, ValueError, TypeError, LookupError) as error:
            raise ModelFileError(
                f"{Path(path)} has no valid index: {error} Save it again."
            ) from error
        return index

    def _restore_documents(self, saved: SavedEstimator) -> None:
        vectors, mass = saved.arrays["index_vectors"], saved.arrays["index_mass"]
        self.documents.check_vectors(vectors)
        self.documents.check_vectors(mass[None])
        if not len(vectors):
            return
        counts = unpack_counts(saved.arrays, "index_counts", self.n_terms)
        vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        ids, texts = (saved.strings.get(f"index_{name}") for name in ("ids", "texts"))
        rows = saved.arrays.get("index_embeddings")
        rows = None if rows is None else check_embeddings(rows, len(vectors))
        self.documents.append(vectors, mass, ids, counts, texts, rows)

    def _word_scores(
        self, counts: sparse.csr_matrix | None, more: sparse.csr_matrix | None
    ) -> Doubles:
        """Return the documents' scores by words; `more` counts words beyond X."""
        documents, kind = self.documents, str(self.lexical)
        if more is not None:
            both = sparse.csr_matrix(sparse.hstack([documents.counts, more]))
            ones = np.ones((1, more.shape[1]), np.float32)
            query = sparse.csr_matrix(sparse.hstack([counts, ones]))
            return LexicalScores(both, kind).score(query)
        if self._words is None:
            self._words = LexicalScores(documents.counts, kind)
        return self._words.score(counts)

    def _beyond(self, text: str) -> BeyondWords:
        """Return what the documents' texts have of words that the model lacks."""
        cutting = cutting_options(self.text)
        unknown = unknown_words(text, self._columns, cutting)
        if not unknown:
            return BeyondWords()
        there: list[str] = []
        counts = None
        if self.documents.texts is not None:
            there, counts = occurrences(self.documents.texts, unknown, cutting)
        rest = [word for word in unknown if word not in there]
        note = left_out_note(rest, there, self._columns)
        return BeyondWords(note, counts if there else None)

    def _resolve(
        self, kind: str, value: Any, with_words: bool, asked: Rows | None
    ) -> tuple[Doubles, sparse.csr_matrix | None, BeyondWords]:
        """Return the latent vector of a query, its words, and those of texts alone."""
        more = BeyondWords()
        if kind in ("query", "word") and isinstance(value, str):
            self._needed_vocabulary()
            more = self._beyond(value)
            if more.counts is not None and not self._knows(value):
                # The mean of the documents that have the words.
                times = np.asarray(more.counts.sum(axis=1)).ravel()
                rows = np.flatnonzero(times)
                stored = self.documents.vectors[rows]
                latent = np.array([latent_form(row, self.measure) for row in stored])
                empty = sparse.csr_matrix((1, self.n_terms), dtype=np.float32)
                return np.average(latent, axis=0, weights=times[rows]), empty, more
        return *self._known(kind, value, with_words, asked), more

    def _knows(self, text: str) -> bool:
        """Tell whether the model has a word of a text."""
        try:
            count_text(text, self._columns, cutting_options(self.text))
        except DataError:
            return False
        return True

    def _known(
        self, kind: str, value: Any, with_words: bool, asked: Rows | None
    ) -> tuple[Doubles, sparse.csr_matrix | None]:
        """Return the latent vector of a query, and its words if they are needed."""
        documents = self.documents
        if with_words and kind in ("vector", "topic"):
            raise DataError(f"a {kind} has no words to compare. Leave out mix.")
        if kind == "vector":
            return documents.check_vectors(np.atleast_2d(value))[0], None
        if kind == "topic":
            n_topics = documents.n_components
            return np.eye(1, n_topics, topic_number(value, n_topics))[0], None
        if kind == "document":
            row = documents.find(value)
            counts = documents.counts[row] if with_words else None
            return latent_form(documents.vectors[row], self.measure), counts
        if kind == "query" and not isinstance(value, str):
            counts = check_counts_row(value, self.n_terms)
        else:
            self._needed_vocabulary()
            if kind == "query":
                counts = count_text(value, self._columns, cutting_options(self.text))
            else:
                column = find_word(value, self._columns)
                one = np.ones(1, np.float32)
                counts = sparse.csr_matrix((one, [column], [0, 1]), (1, self.n_terms))
        if kind == "word" and not isinstance(self.model, LSI):
            latent = joint_shares(self.model, documents.mass, [column])[0]
            if latent.sum() <= 0:
                raise DataError("the word is in no topic. Choose another one.")
            return latent / latent.sum(), counts
        latent = self._mixture(counts, asked)
        if not latent.any():
            raise DataError(
                "the words of the query have no weight in the model, because they are "
                "spread evenly over the training documents or are in none of them. Use "
                "other words."
            )
        return latent, counts

    def _mixture(self, counts: sparse.csr_matrix, asked: Rows | None) -> Doubles:
        """Return the latent vector of the words of a query, and of its embedding."""
        has = self._embedded()
        known = {"embeddings": asked} if has and asked is not None else {}
        with warnings.catch_warnings():
            if has:  # a query is words, whatever the documents had beside them
                warnings.simplefilter("ignore", DataWarning)
            latent = self.model.transform(counts, **known)[0]
        return np.asarray(latent, dtype=np.float64)

    def _needed_vocabulary(self) -> tuple[str, ...]:
        if self.vocabulary is None:
            raise DataError(
                "to search by words, the index needs the vocabulary. Make it with "
                "vocabulary=words."
            )
        return self.vocabulary

    def _checked_vocabulary(
        self, vocabulary: Sequence[str] | None
    ) -> tuple[str, ...] | None:
        if vocabulary is None:
            names = getattr(self.model, "feature_names_in_", None)
            return None if names is None else tuple(map(str, names))
        words = tuple(vocabulary)
        n_terms = self.model.components_.shape[1]
        if len(words) != n_terms or len(set(words)) != n_terms:
            raise DataError(
                f"vocabulary has {len(words)} words ({len(set(words))} different), but "
                f"the model has {n_terms} terms."
            )
        return words


class DocumentStore:
    """Documents of an index: what is added is joined when it is asked for."""

    def __init__(self, n_components: int, n_terms: int, *, counts: bool) -> None:
        self.n_components = n_components
        self.n_terms = n_terms
        self.keeps_counts = counts
        self.ids: list[str] | None = None  # None: documents are named by their rows
        self.mass = np.zeros(n_components)  # sums of absolute latent coordinates
        self.longest = 0.0  # length of the longest vector
        self._vectors = [np.empty((0, n_components), np.float32)]
        self._size = 0
        self.texts: list[str] | None = None  # kept only if those of all are known
        self.embeddings: Any = None  # the same
        self._parts: list[sparse.csr_matrix] = []
        self._rows: dict[str, int] = {}

    def __len__(self) -> int:
        return self._size

    @property
    def vectors(self) -> NDArray[np.float32]:
        """Stored vectors of all documents."""
        if len(self._vectors) > 1:
            self._vectors = [np.concatenate(self._vectors)]
        return self._vectors[0]

    @property
    def counts(self) -> sparse.csr_matrix:
        """Counts of all documents."""
        if len(self._parts) != 1:
            self._parts = [sparse.csr_matrix(sparse.vstack(self._parts))]
        return self._parts[0]

    def append(
        self,
        vectors: NDArray[np.float32],
        mass: Doubles,
        ids: Sequence[str] | None,
        counts: Any,
        texts: Sequence[str] | None = None,
        embeddings: Any = None,
    ) -> None:
        """Add documents; nothing is changed if they do not fit."""
        names = self._new_names(ids, len(vectors))
        if texts is not None and len(texts) != len(vectors):
            raise DataError(f"texts has {len(texts)} for {len(vectors)} documents.")
        both = embeddings is not None and self.embeddings is not None
        if both and embeddings.shape[1] != self.embeddings.shape[1]:
            raise DataError(
                f"embeddings have {embeddings.shape[1]} dimensions, those of the index "
                f"have {self.embeddings.shape[1]}. Give those of the same encoder."
            )
        if self.keeps_counts:
            self._parts.append(self._new_counts(counts, len(vectors)))
        self._vectors.append(vectors)
        if names is not None:
            self._rows |= {name: self._size + i for i, name in enumerate(names)}
            self.ids = (self.ids or []) + names
        if texts is None or (self._size and self.texts is None):
            self.texts = None
        else:
            self.texts = [*(self.texts or ()), *texts]
        if embeddings is None or (self._size and self.embeddings is None):
            self.embeddings = None
        elif both:
            self.embeddings = np.vstack([self.embeddings, embeddings])
        else:
            self.embeddings = embeddings
        self._size += len(vectors)
        self.longest = max(self.longest, longest_row(vectors))
        self.mass = self.mass + mass

    def names(self, rows: NDArray[np.int64]) -> tuple[str, ...]:
        """Return the names of documents."""
        ids = self.ids
        return tuple(str(row) if ids is None else ids[row] for row in rows.tolist())

    def find(self, document: Any) -> int:
        """Return the row of a document given by row or name."""
        if isinstance(document, str):
            if document in self._rows:
                return self._rows[document]
            if self.ids is not None or not (document.isascii() and document.isdigit()):
                raise DataError(self._not_there(document))
            document = int(document)
        if not isinstance(document, int | np.integer) or isinstance(document, bool):
            raise DataError(
                f"document is {document!r}. Give the row of a document, or its name."
            )
        if not 0 <= document < self._size:
            raise DataError(
                f"there is no document {document}; rows are 0 to {self._size - 1}."
            )
        return int(document)

    def _not_there(self, document: str) -> str:
        problem = f"there is no document {document!r}."
        if self.ids is None:
            return (
                f"{problem} Documents have no ids; give a row, 0 to {self._size - 1}."
            )
        near = difflib.get_close_matches(document, self.ids, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else "Give an id or a row."
        return f"{problem} {hint}"

    def check_vectors(self, vectors: Any) -> Doubles:
        """Return latent vectors as float64, or say what is wrong with them."""
        rows = np.asarray(vectors, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.n_components:
            raise DataError(
                f"vectors have shape {rows.shape}, but (n, {self.n_components}) is "
                "needed, as the model's transform returns it."
            )
        if not np.isfinite(rows).all():
            raise DataError("vectors must be finite; check your array.")
        return rows

    def _new_names(self, ids: Sequence[str] | None, new: int) -> list[str] | None:
        if ids is None:
            if self.ids is None:
                return None
            raise DataError(
                "the documents so far have names. Give ids to the new ones."
            )
        if self.ids is None and self._size:
            raise DataError("the documents so far have no names. Leave out ids.")
        names = [str(name) for name in ids]
        if len(names) != new:
            raise DataError(f"ids has {len(names)} names for {new} documents.")
        for name, times in Counter(names).items():
            if times > 1 or name in self._rows:
                raise DataError(f"the name {name!r} occurs twice. Names must differ.")
        return names

    def _new_counts(self, counts: Any, new: int) -> sparse.csr_matrix:
        part = check_counts(counts, "X", dtype=np.float32)
        if part.shape != (new, self.n_terms):
            raise DataError(
                f"X has shape {part.shape}, but ({new}, {self.n_terms}) is needed."
            )
        return part


def has_index(saved: SavedEstimator) -> bool:
    """Tell whether a model's file has an index too."""
    return isinstance(saved.meta.get("index"), dict)
