# SPDX-License-Identifier: BSD-3-Clause
"""The peers by name; to add one, write an `Adapter` and list it here."""

from benchmarks.peers.adapters.base import Adapter
from benchmarks.peers.adapters.gensim_lda import GensimLDA, GensimMulticore
from benchmarks.peers.adapters.ours import OurCVB0, OurPLSA, OurVariational
from benchmarks.peers.adapters.sklearn_lda import SklearnLDABatch, SklearnLDAOnline
from benchmarks.peers.adapters.sklearn_nmf import SklearnNMF, SklearnNMF64
from benchmarks.peers.adapters.tomotopy_lda import TomotopyLDA
from benchmarks.peers.adapters.topica_lda import TopicaCVB0, TopicaLDA

REFERENCE = TomotopyLDA.name
OURS = (OurPLSA.name, OurCVB0.name, OurVariational.name)
ADAPTERS: dict[str, Adapter] = {
    adapter.name: adapter
    for adapter in (
        TomotopyLDA(),
        OurPLSA(),
        OurCVB0(),
        OurVariational(),
        TopicaLDA(),
        TopicaCVB0(),
        SklearnNMF(),
        SklearnNMF64(),
        SklearnLDABatch(),
        SklearnLDAOnline(),
        GensimLDA(),
        GensimMulticore(),
    )
}

__all__ = ["ADAPTERS", "OURS", "REFERENCE", "Adapter"]
