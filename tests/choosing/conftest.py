# SPDX-License-Identifier: BSD-3-Clause
import pytest
from protocols_support import planted_corpus


@pytest.fixture(scope="session")
def corpus():
    return planted_corpus()
