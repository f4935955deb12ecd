# SPDX-License-Identifier: BSD-3-Clause
"""A scikit-learn pipeline: counts, topics, classifier; the best setting by search."""

from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline

from topicfold import PLSA
from topicfold.corpus import load_docs

corpus = load_docs().select(slice(0, None, 3))
train, test, y_train, y_test = train_test_split(
    corpus.texts, corpus.labels, random_state=0
)
pipeline = Pipeline(
    [
        ("counts", CountVectorizer(stop_words="english", min_df=3)),
        ("topics", PLSA(random_state=0, max_iter=30)),
        ("classifier", LogisticRegression(C=100, max_iter=1000)),
    ]
)
search = GridSearchCV(pipeline, {"topics__n_components": [5, 20]}, cv=2)
search.fit(train, y_train)
print("best:", search.best_params_)
print(f"right on new documents: {search.score(test, y_test):.1%}")
