# SPDX-License-Identifier: BSD-3-Clause
"""The field's matrix formats, each read and written: counts in, counts out.

==========  ============================================  =============================
name        what a file looks like                        names
==========  ============================================  =============================
ldac        LDA-C: a document a line, ``2 0:1 7:3``       .ldac
uci         UCI bag of words: three sizes, then a line    .uci, docword.NAME.txt
            ``document word count`` an entry, from 1
mm          MatrixMarket, coordinates, general            .mtx, .mm
svmlight    SVMlight and LIBSVM: ``label 1:1 8:3``        .svmlight, .svm, .libsvm
mallet      MALLET's import-file text form: a document    .mallet
            a line, ``id label word word ...``
npz         SciPy's sparse matrix                         .npz
==========  ============================================  =============================

What a format has no place for lies beside the file, a line a word or a document:
``FILE.vocab``, ``FILE.labels``, ``FILE.ids``, ``FILE.times``, ``FILE.split``. With
these a corpus comes back as it was: shape, counts, words and what is known of
documents (texts and links are not written). Whole counts come back as int32 (int64
where they must), others as float64; npz keeps the type. Where there is no FILE.vocab,
vocab.NAME.txt beside docword.NAME.txt and vocab.txt are looked for.
"""

from topicfold.corpus.formats.registry import FORMATS, MatrixFormat, matrix_format

__all__ = ["FORMATS", "MatrixFormat", "matrix_format"]
