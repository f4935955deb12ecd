# SPDX-License-Identifier: BSD-3-Clause
"""Does a feature of documents matter to their topics, and how sure is that?

Answers to an open question are drawn here, half of them after a treatment that makes
people write more about work. The topics are found in one half of the answers, the
effects estimated in the other.
"""

import numpy as np

from topicfold import LDA
from topicfold.corpus import Corpus
from topicfold.effects import split_sample

THEMES = {
    "work": "job wage boss office hire salary union shift career pay",
    "health": "doctor hospital nurse medicine care clinic illness cure drug health",
    "school": "teacher class pupil exam lesson school homework grade study book",
}
rng = np.random.default_rng(0)
words = [theme.split() for theme in THEMES.values()]
treatment = rng.integers(0, 2, 600)
age = rng.integers(18, 80, 600)
answers = []
for treated, years in zip(treatment, age, strict=True):
    wishes = np.array([1.0 + treated, 0.5 + years / 40, 1.0])
    shares = rng.dirichlet(2 * wishes / wishes.sum())
    themes = rng.choice(3, 25, p=shares)
    answers.append(" ".join(rng.choice(words[theme]) for theme in themes))

corpus = Corpus.from_texts(answers, max_df=1.0)
effects = split_sample(
    LDA(3, random_state=0),
    "~ treatment + s(age)",
    {"treatment": treatment, "age": age},
    corpus,
)
for sentence in effects.sentences():
    print(sentence)
print(*effects.notes, sep="\n")
