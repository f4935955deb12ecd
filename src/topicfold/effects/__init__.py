# SPDX-License-Identifier: BSD-3-Clause
"""Effects of covariates on topic shares, with the uncertainty of mixtures and topics.

``pip install 'topicfold[effects]'`` installs what formulas need.
"""

from topicfold.effects.checking import permutation_test, split_sample
from topicfold.effects.estimate import estimate_effect
from topicfold.effects.result import Effects

__all__ = ["Effects", "estimate_effect", "permutation_test", "split_sample"]
