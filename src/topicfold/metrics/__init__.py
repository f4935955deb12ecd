# SPDX-License-Identifier: BSD-3-Clause
"""How good topics are: fit, coherence, exclusivity, stability, clusters, maps."""

from topicfold.metrics.agreement import (
    clustering_accuracy,
    clustering_nmi,
    map_trustworthiness,
    match_topics,
    topic_stability,
)
from topicfold.metrics.intrusion import (
    IntrusionItem,
    IntrusionScore,
    rater_agreement,
    read_intrusion_sheet,
    score_intrusion,
    topic_intrusion,
    word_intrusion,
    write_intrusion_sheet,
)
from topicfold.metrics.perplexity import (
    Residuals,
    cache_weight,
    completion_perplexity,
    left_to_right_log_likelihood,
    residual_dispersion,
    unigram,
)
from topicfold.metrics.words import (
    contrasting_words,
    cv_coherence,
    frex,
    npmi_coherence,
    top_words,
    topic_diversity,
    topic_exclusivity,
    umass_coherence,
    word_scores,
)

__all__ = [
    "IntrusionItem",
    "IntrusionScore",
    "Residuals",
    "cache_weight",
    "clustering_accuracy",
    "clustering_nmi",
    "completion_perplexity",
    "contrasting_words",
    "cv_coherence",
    "frex",
    "left_to_right_log_likelihood",
    "map_trustworthiness",
    "match_topics",
    "npmi_coherence",
    "rater_agreement",
    "read_intrusion_sheet",
    "residual_dispersion",
    "score_intrusion",
    "top_words",
    "topic_diversity",
    "topic_exclusivity",
    "topic_intrusion",
    "topic_stability",
    "umass_coherence",
    "unigram",
    "word_intrusion",
    "word_scores",
    "write_intrusion_sheet",
]
