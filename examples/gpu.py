# SPDX-License-Identifier: BSD-3-Clause
"""The same fit on a GPU: ``pip install 'topicfold[gpu]'``."""

from topicfold import PLSA
from topicfold.corpus import load_docs
from topicfold.exceptions import DeviceError, MissingDependencyError

counts = load_docs().counts
try:
    model = PLSA(100, device="cuda", random_state=0).fit(counts)
    print("topics from the GPU:", model.components_.shape)
except (DeviceError, MissingDependencyError) as error:
    print(f"no GPU here: {error}")
