# SPDX-License-Identifier: BSD-3-Clause
"""Names that users of other libraries type from habit, and the names here."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

# Parameters that mean the same as ours.
_SAME = {
    "n_components": "n_topics",
    "num_topics": "n_topics",
    "nr_topics": "n_topics",
    "k": "n_topics",
    "random_seed": "random_state",
    "seed": "random_state",
    "workers": "n_jobs",
    "cores": "n_jobs",
}
_PRIOR = "a prior of the model: Topics(20, model=LDA({}=0.1))"
_PARAMETERS = {
    "alpha": _PRIOR.format("doc_topic_prior"),
    "eta": _PRIOR.format("topic_word_prior"),
    "beta": _PRIOR.format("topic_word_prior"),
    **dict.fromkeys(
        ("passes", "iterations", "max_iter"),
        "a parameter of the model: Topics(20, model=LDA(max_iter=50))",
    ),
    "id2word": "given to fit: Topics(20).fit(bags, vocabulary=dictionary)",
    "corpus": "given to fit: Topics(20).fit(corpus)",
    "rm_top": "a share of the documents here: Topics(20, max_df=0.5)",
    "min_cf": "a number of documents here: Topics(20, min_df=5)",
    "vectorizer_model": "an option of Topics: stop_words=, min_df=, ngram_range=, …",
    "ngrams": "a pair here: Topics(20, ngram_range=(1, 2))",
    "tokenizer": "a function of a text: Topics(20, tokens=function)",
    "analyzer": "a function of a text: Topics(20, tokens=function)",
    "n_restarts": "an argument of stability(n_restarts)",
    "language": "set by stop_words='german'",
    **dict.fromkeys(
        ("seed_topic_list", "seeds"),
        "given to a model: Topics(model=SeededLDA(seeds={'space': ['orbit', 'moon']}))",
    ),
    "embedding_model": "an encoder here: Topics(20, encoder=encoder)",
    "zeroshot_topic_list": "set by about: Topics(about=['space'], encoder=encoder)",
    "representation_model": "given later: topics.rename(function), rename('phrases')",
    "min_topic_size": "not available: give the number of topics, n_topics",
    "top_n_words": "a number of table(n_words=15)",
}
_ATTRIBUTES = {
    **dict.fromkeys(
        ("show_topic", "get_topic", "get_topic_words", "get_topic_terms"),
        "words(topic)",
    ),
    **dict.fromkeys(
        ("show_topics", "get_topic_info", "get_topic_freq", "top_topics"), "table()"
    ),
    **dict.fromkeys(
        ("get_document_topics", "approximate_distribution", "infer", "inference"),
        "transform(texts)",
    ),
    **dict.fromkeys(("num_topics", "n_components", "k"), "data_.n_topics"),
    **dict.fromkeys(("id2word", "used_vocabs", "vocabulary_"), "data_.vocabulary"),
    **dict.fromkeys(
        ("get_topic_dist", "probabilities_", "doc_topics_"), "data_.doc_topics"
    ),
    **dict.fromkeys(
        ("ll_per_word", "score", "log_perplexity", "perplexity"),
        "model_.perplexity(counts)",
    ),
    "undo": "load(path) of a model saved before the edit, or fit again",
    "print_topics": "print(topics), or table()",
    "get_topics": "table(), or data_.topics for the array",
    "get_document_info": "to_frame()",
    "get_representative_docs": "documents(topic)",
    "predict": "transform(texts).argmax(axis=1) for the largest topic",
    "find_topics": "search(query)",
    "topics_over_time": "over_time(dates)",
    "topics_per_class": "by_class(labels)",
    "merge_topics": "merge([1, 4])",
    "reduce_topics": "merge([1, 4]), or a fit with fewer topics",
    "set_topic_labels": "rename({3: 'space'})",
    "partial_fit": "update(texts)",
    "train": "fit(texts)",
    "add_doc": "fit(texts)",
    "summary": "print(topics)",
    "visualize_topics": "explore(), or plot('similarity')",
    "visualize_documents": "map(), or plot('map')",
    "visualize_barchart": "plot('words')",
    "visualize_heatmap": "plot('similarity')",
    "visualize_topics_over_time": "plot('time')",
    "visualize_topics_per_class": "plot('classes')",
    "visualize_hierarchy": "explore()",
    "visualize_distribution": "transform(texts) for the mixture of a document",
    "visualize_term_rank": "plot('words')",
    "hierarchical_topics": "explore(), whose list of topics can be a tree",
    "get_topic_tree": "explore(), whose list of topics can be a tree",
    "update_topics": "fit(texts) with other stop_words=, min_df= or ngram_range=",
    "update_many": "update(texts)",
    "reduce_outliers": "transform(texts): every document has a mixture, none is left",
    "generate_topic_labels": "data_.name(topic), or rename({3: 'space'})",
    "get_term_topics": "search('word')",
    "topics_": "data_.main_topics()",
    "labels_": "data_.main_topics()",
    "topic_labels_": "data_.topic_names",
    "topic_sizes_": "data_.topic_sizes()",
    "docs": "data_.texts",
    "save_model": "save(path)",
    "load_model": "load(path)",
    "coherence": "report('report.html'), which has the NPMI of every topic",
    "get_coherence": "report('report.html'), which has the NPMI of every topic",
    "bound": "model_.objective_history_",
    "inverse_transform": "transform(texts) @ data_.topics, shares of words",
    "components_": "data_.topics",
    "topic_names": "rename({3: 'space'}) and data_.topic_names",
}


def answer_parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters by their names here; raise a TypeError with the right name."""
    found = {}
    for name, value in given.items():
        if name not in _SAME:
            near = difflib.get_close_matches(name, _SAME, n=1)
            hint = _PARAMETERS.get(name) or (_SAME[near[0]] if near else None)
            advice = "See help(topicfold.Topics)." if hint is None else f"It is {hint}."
            raise TypeError(f"Topics has no parameter {name!r}. {advice}")
        found[_SAME[name]] = value
    return found


def answer_attribute(name: str) -> AttributeError:
    """Return the error for an attribute, with what it is called here."""
    hint = _ATTRIBUTES.get(name)
    advice = "" if hint is None else f" Use {hint}."
    return AttributeError(f"Topics has no {name!r}.{advice}")
