# SPDX-License-Identifier: BSD-3-Clause
"""How good topics are: fit, coherence, exclusivity, stability, clusters, maps."""

from topicfold.metrics.clustering import clustering_accuracy, clustering_nmi
from topicfold.metrics.coherence import cv_coherence, umass_coherence
from topicfold.metrics.exclusive import frex, topic_exclusivity
from topicfold.metrics.intrusion import (
    IntrusionItem,
    IntrusionScore,
    score_intrusion,
    topic_intrusion,
    word_intrusion,
)
from topicfold.metrics.labeling import topic_labels
from topicfold.metrics.left_to_right import left_to_right_log_likelihood
from topicfold.metrics.maps import map_trustworthiness
from topicfold.metrics.perplexity import completion_perplexity, unigram
from topicfold.metrics.stability import match_topics, topic_stability
from topicfold.metrics.words import npmi_coherence, top_words, topic_diversity

__all__ = [
    "IntrusionItem",
    "IntrusionScore",
    "clustering_accuracy",
    "clustering_nmi",
    "completion_perplexity",
    "cv_coherence",
    "frex",
    "left_to_right_log_likelihood",
    "map_trustworthiness",
    "match_topics",
    "npmi_coherence",
    "score_intrusion",
    "top_words",
    "topic_diversity",
    "topic_exclusivity",
    "topic_intrusion",
    "topic_labels",
    "topic_stability",
    "umass_coherence",
    "unigram",
    "word_intrusion",
]
