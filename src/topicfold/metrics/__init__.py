# SPDX-License-Identifier: BSD-3-Clause
"""How good topics are: held-out perplexity, coherence, diversity."""

from topicfold.metrics.perplexity import completion_perplexity, unigram
from topicfold.metrics.words import npmi_coherence, top_words, topic_diversity

__all__ = [
    "completion_perplexity",
    "npmi_coherence",
    "top_words",
    "topic_diversity",
    "unigram",
]
