# SPDX-License-Identifier: BSD-3-Clause
"""Texts in, topics out: one object for people, over any model of topicfold.

Names are loaded when they are first used: a command needs few of these modules.
"""

from typing import TYPE_CHECKING

from topicfold.core.lazy import lazy_names

if TYPE_CHECKING:
    from topicfold.session.naming import naming_prompt as naming_prompt
    from topicfold.session.topics import Topics as Topics

_PLACES = {
    "Topics": "topicfold.session.topics:Topics",
    "naming_prompt": "topicfold.session.naming:naming_prompt",
}

__all__ = sorted(_PLACES)

__getattr__ = lazy_names(__name__, _PLACES)
