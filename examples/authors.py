# SPDX-License-Identifier: BSD-3-Clause
"""The author-topic model: who writes about what, and who is like whom.

The built-in corpus has no authors; its modules stand for them here. A document may have
several: give a list of names for each.
"""

from topicfold import AuthorTopics
from topicfold.corpus import load_docs

corpus = load_docs()
authors = [[label] for label in corpus.labels]
model = AuthorTopics(20, random_state=0, max_iter=60, tol=1e-4)
model.fit(corpus.counts, authors=authors)
print(f"{len(model.author_names_)} authors of {corpus.n_documents:,} documents")

words = model.topic_data(corpus.vocabulary).top_terms(6)
place = list(model.author_names_).index("scipy.signal")
for topic in model.author_topics_[place].argsort()[::-1][:3]:
    share = model.author_topics_[place, topic]
    print(f"scipy.signal  {share:4.0%}  {', '.join(words[topic])}")
similar = ", ".join(
    f"{name} {cosine:.2f}" for name, cosine in model.similar_authors("scipy.signal", 4)
)
print(f"most like scipy.signal: {similar}")
