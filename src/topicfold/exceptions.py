# SPDX-License-Identifier: BSD-3-Clause
"""Errors and warnings of topicfold: what is wrong, where, and how to fix it."""


class TopicfoldError(Exception):
    """Base of every error that topicfold raises on purpose."""


class DataError(TopicfoldError, ValueError):
    """The input (matrix, labels, graph, vocabulary, text) cannot be used."""


class ModelFileError(TopicfoldError, ValueError):
    """A saved model is missing, damaged, of wrong shape or of a newer format."""


class MissingAttributeError(TopicfoldError, AttributeError):
    """A model has no such fitted attribute: not fitted, other options, a bad file."""


class MissingDependencyError(TopicfoldError, ImportError):
    """An optional dependency is not installed; the message has the install line."""


class DeviceError(TopicfoldError, RuntimeError):
    """The requested device is not available or ran out of memory."""


class EmptyDocumentWarning(UserWarning):
    """Some documents have no known word; they get what is expected without words."""


class FitInterruptedWarning(UserWarning):
    """A fit was ended by Ctrl-C; the model holds the best parameters so far."""


class UnsettledWarning(UserWarning):
    """The topics were still changing when a fit had done its last iteration."""


class SpareTopicsWarning(UserWarning):
    """Some topics of a fit are empty, or copies of another topic."""


class DataWarning(UserWarning):
    """The input was read, but not as it stands: lines skipped, encoding guessed."""
