# SPDX-License-Identifier: BSD-3-Clause
"""The contract of the parts of a model: θ, φ, and what else is known of documents.

``p(w | d) = Σ_k θ_dk φ_kw``: a model is how θ is made, how φ is made, and what else is
known of documents. Each is a part, a small estimator (`Part`), and all work alike:

==================  ========================  ==================  ====================
in every pass       θ (`ThetaStep`)           φ (`PhiStep`)       `Side`
==================  ========================  ==================  ====================
data of documents   ``check``                 –                   ``check``
what it makes       ``update``: N_dk to θ     ``update``: N_wk    one hook: a factor, a
                                              to φ                prior, a mask, …
sums over rows      ``gather``                –                   ``gather``
learns from them    ``learn``                 –                   ``learn``
in the objective    ``value``                 ``value``           ``value``
==================  ========================  ==================  ====================

What a part has learned are its attributes that end in ``_``: they are saved with the
model, and a fit goes on from them. `transform` calls the same methods but for `learn`.
Parts from outside are in the guides (``docs/guide/which_model.md`` for steps,
``docs/guide/sides.md`` for sides), correlated topics in ``tests/step_support.py``.
"""

from topicfold.parts.sides import Side, TopicWeights
from topicfold.parts.steps import Context, Part, PhiStep, ThetaStep

__all__ = ["Context", "Part", "PhiStep", "Side", "ThetaStep", "TopicWeights"]
