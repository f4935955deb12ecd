# SPDX-License-Identifier: BSD-3-Clause
"""Open numbers of topics, trees, bursts and super-topics, beside the simplest rivals.

HierarchicalDirichletLDA, TopicTree, BurstyLDA and PachinkoLDA on drawn and on real
corpora, beside LDA of the best number of topics, LDA with a word cache, and tomotopy's
HDP, HLDA and PA. Perplexity is always by document completion, with the same inference
for tomotopy's topics as for ours. One thread, CPU seconds.

    python -m benchmarks.open_numbers --corpora DIR --write [--only hdp ...]
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import tomotopy
import topica
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import normalized_mutual_info_score

from topicfold import (
    LDA,
    BurstyLDA,
    HierarchicalDirichletLDA,
    PachinkoLDA,
    TopicTree,
)
from topicfold.gibbs.fixed_topics import gibbs_mixtures
from topicfold.infer.fold_in import document_completion
from topicfold.metrics import npmi_coherence

RESULTS = Path(__file__).parent / "results" / "open_numbers.md"
SIZES = (20, 50, 100, 200)
CHOSEN = ("ap_blei", "oh15", "bbc_news_octis")  # where HDP's defaults were looked at
CONFIRMED = ("wap",)
# The chain's defaults were looked at on the first; what a node keeps of its children's
# words, on the second to the fourth.
TREES = (
    *("ap_blei", "bbc_news_octis", "oh15", "wap"),
    *("k1b", "reuters21578_dengcai", "oh10", "la2s"),
)
BURSTY = ("ap_blei", "nips0_12", "bbc_news_octis", "la1s", "poliblog5k_stm", "oh15")


def halves(corpora, name, seed=0):
    """Return training and test documents, four fifths and one fifth."""
    X = sparse.csr_matrix(sparse.load_npz(corpora / name / "counts.npz"))
    X = X.astype(np.float32)[np.random.default_rng(seed).permutation(X.shape[0])]
    n_train = int(0.8 * X.shape[0])
    known = np.asarray(X[:n_train].sum(axis=0)).ravel() > 0
    return X[:n_train][:, known], X[n_train:][:, known]


def timed(model, X):
    """Return a fitted model and its CPU seconds."""
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X)
    return model, time.process_time() - began


def fill(model, X):
    """Give the documents to a model of tomotopy."""
    for row in X:
        words = np.repeat(row.indices, row.data.astype(int))
        model.add_doc([str(w) for w in words])
    return model


def rows_of(model, topics, n_terms):
    """Return φ of topics of tomotopy in our columns."""
    phi = np.full((len(topics), n_terms), 1e-12)
    columns = [int(word) for word in model.used_vocabs]
    for row, k in zip(phi, topics, strict=True):
        row[columns] = model.get_topic_word_dist(k)
    return phi / phi.sum(axis=1, keepdims=True)


def train_for(model, seconds):
    """Run tomotopy for so many CPU seconds."""
    began = time.process_time()
    while time.process_time() - began < seconds:
        model.train(10, workers=1)


# Topics and documents of drawn corpora.
PLANTED = ((10, 600), (10, 2000), (30, 600), (30, 2000), (60, 600), (60, 2000))


def planted_topics(seed, n_topics, n_documents, n_terms=1500, length=100):
    """Draw a corpus of LDA; a document has about three of the topics."""
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(n_terms, 0.05), n_topics)
    theta = rng.dirichlet(np.full(n_topics, 3.0 / n_topics), n_documents)
    rows = [rng.multinomial(length, p) for p in theta @ phi]
    return sparse.csr_matrix(np.array(rows, dtype=np.float32))


def tomotopy_hdp(train, test, seconds, seed):
    """Return the number of topics of tomotopy's HDP, and their perplexity."""
    model = fill(tomotopy.HDPModel(initial_k=10, seed=seed), train)
    train_for(model, seconds)
    live = [k for k in range(model.k) if model.is_live_topic(k)]
    if test is None:
        return len(live), np.nan
    phi = rows_of(model, live, train.shape[1])
    sizes = np.array(model.get_count_by_topics())[live]
    alpha = model.alpha * np.maximum(sizes, 1) / sizes.sum()
    shares = np.asarray(train.sum(axis=0)).ravel() / train.sum()
    score = document_completion(
        test,
        phi,
        background=shares,
        infer=lambda X: gibbs_mixtures(X, phi, prior=alpha),
    )
    return len(live), score


def topica_hdp(train, seconds, seed):
    """Return the number of topics of topica's HDP, in sweeps that take `seconds` first.

    Its sweeps become slower as it adds topics: on real corpora it had not ended after
    eight times as long, so it is shown on planted ones only.
    """
    documents = [
        [str(w) for w in np.repeat(row.indices, row.data.astype(int))] for row in train
    ]
    began = time.process_time()
    topica.HDP(seed=seed).fit(documents, iters=10, keep_theta_draws=False)
    sweeps = int(10 * seconds / max(time.process_time() - began, 1e-3))
    model = topica.HDP(seed=seed)
    model.fit(documents, iters=max(sweeps, 20), keep_theta_draws=False)
    return model.num_topics


def hdp(corpora, names=(*CHOSEN, *CONFIRMED)):
    """Yield numbers of topics found over restarts, and perplexity."""
    for name in names:
        train, test = halves(corpora, name)
        found = []
        for seed in range(5):
            model, used = timed(HierarchicalDirichletLDA(random_state=seed), train)
            found.append(model)
            score = model.perplexity(test)
            yield name, f"HDP, restart {seed}", model.n_topics_, score, used
        numbers = [model.n_topics_ for model in found]
        away = max(abs(n / np.mean(numbers) - 1) for n in numbers)
        yield name, f"farthest from the mean: {away:.0%}", numbers, np.nan, np.nan
        for size in SIZES:
            model, seconds = timed(LDA(size, random_state=0), train)
            yield name, "LDA", size, model.perplexity(test), seconds
        yield name, "tomotopy HDP", *tomotopy_hdp(train, test, used, 0), used
        option = {"n_components": 600} if name == CHOSEN[0] else {"min_share": 0.002}
        model = HierarchicalDirichletLDA(**option, random_state=0)
        model, used = timed(model, train)
        title = ", ".join(f"{key}={value}" for key, value in option.items())
        score = model.perplexity(test)
        yield name, f"HDP, {title}", model.n_topics_, score, used


def planted(corpora):
    """Yield the numbers of topics that are found of those that were planted."""
    for n_topics, n_documents in PLANTED:
        rows = {"ours": [], "tomotopy": [], "topica": []}
        seconds = 0.0
        for seed in range(10, 13):
            X = planted_topics(seed, n_topics, n_documents)
            model, used = timed(HierarchicalDirichletLDA(random_state=seed), X)
            seconds += used
            rows["ours"].append(model.n_topics_)
            if seed == 10 and n_documents < 2000:
                rows["tomotopy"].append(tomotopy_hdp(X, None, used, seed)[0])
                rows["topica"].append(topica_hdp(X, used, seed))
        yield n_topics, n_documents, *rows.values(), seconds / 3


def bursty(corpora):
    """Yield perplexity of LDA, LDA with a cache, and BurstyLDA."""
    for name in BURSTY:
        train, test = halves(corpora, name)
        lda, seconds = timed(LDA(50, random_state=0), train)
        model, used = timed(BurstyLDA(50, random_state=0), train)
        cached = lda.perplexity(test, cache="learned")
        scores = lda.perplexity(test), cached, model.perplexity(test)
        yield name, *scores, scores[2] / cached - 1, model.strength_, seconds, used


def planted_tree(seed, branches=(4, 3), n_documents=600, n_terms=400, length=60):
    """Draw documents of a tree of three levels; return counts and paths."""
    rng = np.random.default_rng(seed)
    eta = np.full(n_terms, 0.05)
    root, middle = rng.dirichlet(eta), rng.dirichlet(eta, branches[0])
    leaves = rng.dirichlet(eta, branches)
    rows, paths = [], []
    for _ in range(n_documents):
        a, b = rng.integers(branches[0]), rng.integers(branches[1])
        shares = rng.dirichlet(np.full(3, 5.0))
        mixed = shares @ np.array([root, middle[a], leaves[a, b]])
        rows.append(rng.multinomial(length, mixed))
        paths.append((a, a * branches[1] + b))
    return sparse.csr_matrix(np.array(rows, dtype=np.float32)), np.array(paths)


def tomotopy_tree(train, seconds, seed, **options):
    """Return tomotopy's tree as a TopicTree, whose inference it gets."""
    model = fill(tomotopy.HLDAModel(depth=3, seed=seed, **options), train)
    train_for(model, seconds)
    live = [k for k in range(model.k) if model.is_live_topic(k)]
    place = {k: i for i, k in enumerate(live)}
    tree = TopicTree(algorithm="crp")
    tree.components_ = rows_of(model, live, train.shape[1]).astype(np.float32)
    tree.n_features_in_ = train.shape[1]
    tree.levels_ = np.array([model.level(k) for k in live])
    parents = [model.parent_topic(k) for k in live[1:]]
    tree.parents_ = np.array([-1, *(place[k] for k in parents)])
    tree.node_documents_ = np.array([model.num_docs_of_topic(k) for k in live])
    tree.word_frequencies_ = np.asarray(train.sum(axis=0)).ravel() / train.sum()
    return tree


def subjects(tree, theta, level):
    """Return the node of a level that has most of each document, with all below."""
    below = theta.astype(float)
    for node in range(len(tree.parents_) - 1, 0, -1):
        below[:, tree.parents_[node]] += below[:, node]
    nodes = np.flatnonzero(tree.levels_ == level)
    return nodes[below[:, nodes].argmax(axis=1)]


def agreement(tree, X, classes):
    """Return NMI of documents' nodes on both levels below the root with classes."""
    theta = tree.transform(X)
    return [
        normalized_mutual_info_score(own, subjects(tree, theta, level))
        for level, own in enumerate(classes, start=1)
        if (tree.levels_ == level).any()
    ]


def tree(corpora):
    """Yield nodes by level, NMI, NPMI, perplexity and seconds of trees and LDA."""
    for seed in range(3):
        X, paths = planted_tree(seed)
        known, used = timed(TopicTree(17, random_state=seed), X)
        free, used_by_chain = timed(TopicTree(algorithm="crp", random_state=seed), X)
        other = tomotopy_tree(X, used_by_chain, seed)
        found = (
            ("TopicTree(17)", known, used),
            ('algorithm="crp"', free, used_by_chain),
            ("tomotopy HLDA", other, used_by_chain),
        )
        for name, model, seconds in found:
            nodes = np.bincount(model.levels_).tolist()
            like = agreement(model, X, paths.T)
            title = f"planted 1, 4, 12 (draw {seed})"
            yield title, name, nodes, like, np.nan, np.nan, seconds
    for name in TREES:
        train, test = halves(corpora, name)
        classes = labels_of(corpora, name, train.shape[0])
        model, used = timed(TopicTree(random_state=0), train)
        chain, used_by_chain = timed(TopicTree(algorithm="crp", random_state=0), train)
        found = [("TopicTree", model, used), ('algorithm="crp"', chain, used_by_chain)]
        settings = (0.01, 0.1), (0.1, 0.1), (0.1, 5.0)
        for eta, alpha in settings if name in TREES[:2] else settings[-1:]:
            other = tomotopy_tree(train, used_by_chain, 0, eta=eta, alpha=alpha)
            title = f"tomotopy HLDA, eta {eta}, alpha {alpha}"
            found.append((title, other, used_by_chain))
        for title, tree, seconds in found:
            like = [] if classes is None else agreement(tree, train, [classes] * 2)
            nodes = np.bincount(tree.levels_).tolist()
            yield name, title, nodes, like, *scores(tree, train, test), seconds
        for size in np.bincount(model.levels_)[1:].tolist():
            lda, used = timed(LDA(size, random_state=0), train)
            like = []
            if classes is not None:
                own = lda.doc_topics_.argmax(axis=1)
                like = [normalized_mutual_info_score(classes, own)]
            title = f"LDA, K = {size}"
            yield name, title, [size], like, *scores(lda, train, test), used


def labels_of(corpora, name, n_documents, seed=0):
    """Return the classes of the training documents, None if they have none."""
    file = corpora / name / "labels.txt"
    if not file.is_file():
        return None
    classes = np.array(file.read_text("utf-8").splitlines())
    order = np.random.default_rng(seed).permutation(len(classes))
    return classes[order][:n_documents]


def scores(model, train, test):
    """Return NPMI of topics and the perplexity of other documents."""
    return npmi_coherence(model.components_, train).mean(), model.perplexity(test)


def planted_super(seed, n_super=4, n_topics=16, n_documents=1000, n_terms=600):
    """Draw documents of super-topics; return counts, φ, super-topics and shares."""
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(n_terms, 0.05), n_topics)
    above = np.full((n_super, n_topics), 1e-3)
    for s in range(n_super):
        above[s, 4 * s : 4 * s + 4] = 1.0
        above[s, (4 * s + 4) % n_topics] = 0.5
    above /= above.sum(axis=1, keepdims=True)
    shares = rng.dirichlet(np.full(n_super, 0.15), n_documents)
    rows = []
    for own in shares:
        theta = own @ np.array([rng.dirichlet(8 * row) for row in above])
        rows.append(rng.multinomial(100, theta @ phi))
    return sparse.csr_matrix(np.array(rows, dtype=np.float32)), phi, above, shares


def likeness(phi, above, shares, found_phi, found_above, found_shares):
    """Return mean cosine of super-topics and correlation of shares, matched."""
    n = len(phi)
    like = np.corrcoef(np.vstack([phi, found_phi]))[:n, n:]
    order = linear_sum_assignment(-like)[1]
    found = found_above[:, order]
    unit = found / np.linalg.norm(found, axis=1, keepdims=True)
    cosine = unit @ (above / np.linalg.norm(above, axis=1, keepdims=True)).T
    i, j = linear_sum_assignment(-cosine)
    pairs = zip(i, j, strict=True)
    corr = [np.corrcoef(found_shares[:, a], shares[:, b])[0, 1] for a, b in pairs]
    return float(cosine[i, j].mean()), float(np.mean(corr))


def pachinko(corpora):
    """Yield how well super-topics and their shares are found."""
    for seed in range(3):
        X, phi, above, shares = planted_super(seed)
        model, used = timed(PachinkoLDA(16, n_supertopics=4, random_state=seed), X)
        found = model.components_, model.super_topics_, model.doc_super_topics_
        yield seed, "PachinkoLDA", *likeness(phi, above, shares, *found), used
        other = fill(tomotopy.PAModel(k1=4, k2=16, seed=seed), X)
        train_for(other, max(used, 10.0))
        mixed, own = np.zeros((4, 16)), np.zeros((X.shape[0], 4))
        for row, document in zip(own, other.docs, strict=True):
            np.add.at(row, document.topics, 1)
            np.add.at(mixed, (document.topics, document.subtopics), 1)
        found = rows_of(other, range(16), X.shape[1]), mixed, own
        scores = likeness(phi, above, shares, *found)
        yield seed, "tomotopy PA, 10 s", *scores, max(used, 10.0)


def super_topics(corpora):
    """Yield how super-topics, and topics of LDA, agree with classes."""
    for name in (name for name in TREES if name != "ap_blei"):
        train, _ = halves(corpora, name)
        classes = labels_of(corpora, name, train.shape[0])
        model, used = timed(PachinkoLDA(50, n_supertopics=9, random_state=0), train)
        few = timed(LDA(9, random_state=0), train)[0]
        found = (model.doc_super_topics_, few.doc_topics_, model.doc_topics_)
        like = (
            normalized_mutual_info_score(classes, theta.argmax(axis=1))
            for theta in found
        )
        yield name, *like, used


SECTIONS = {
    "hdp": (
        hdp,
        "Open number of topics",
        "corpus | model | topics | perplexity | CPU s",
    ),
    "planted": (
        planted,
        "Planted numbers of topics, draws 10 to 12 (peers: draw 10, 600 documents)",
        "planted | documents | HDP | tomotopy HDP | topica HDP | CPU s",
    ),
    "bursty": (
        bursty,
        "Burstiness, K = 50",
        "corpus | LDA | LDA + cache | BurstyLDA | against cache | strength | "
        "LDA, CPU s | BurstyLDA, CPU s",
    ),
    "tree": (
        tree,
        "Trees of three levels",
        "corpus | model | nodes by level | NMI, levels 1 and 2 | NPMI | perplexity | "
        "CPU s",
    ),
    "pachinko": (
        pachinko,
        "Super-topics: 4 of 16 planted topics",
        "draw | model | cosine of super-topics | correlation of shares | CPU s",
    ),
    "super": (
        super_topics,
        "Super-topics of real corpora: NMI with classes",
        "corpus | PachinkoLDA(50, n_supertopics=9) | LDA, K = 9 | LDA, K = 50 | CPU s",
    ),
}


def shown(value):
    """Return a value as text."""
    if isinstance(value, list | tuple):
        return ", ".join(map(shown, value))
    if isinstance(value, float | np.floating):
        if np.isnan(value):
            return ""
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return str(value)


def main():
    """Run the sections, and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--only", nargs="*", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--hdp", nargs="*", help="corpora of HDP to run anew")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    store = RESULTS.with_suffix(".json")
    done = json.loads(store.read_text()) if store.is_file() else {}
    for key in given.only:
        options = {"names": given.hdp} if given.hdp and key == "hdp" else {}
        kept = options.get("names", [row[0] for row in done.get(key, [])])
        done[key] = [row for row in done.get(key, []) if row[0] not in kept]
        for row in SECTIONS[key][0](given.corpora, **options):
            done[key].append([shown(value) for value in row])
            print(" | ".join(done[key][-1]), flush=True)
            if given.write:
                RESULTS.write_text(page(done))
                store.write_text(json.dumps(done, indent=1) + "\n")


def page(done):
    """Return the page of the sections that are done."""
    found = [
        "# Open numbers, trees, bursts, super-topics",
        "",
        "`python -m benchmarks.open_numbers --corpora DIR --write`, one thread. Four "
        "fifths of the documents are fitted, one fifth scored by document completion. "
        "Defaults of HDP were chosen on ap_blei, oh15, bbc_news_octis and on other "
        "draws than those shown, those of the chain of trees on ap_blei and draw 0, "
        "what a node of other trees keeps of its children's words on bbc_news_octis, "
        "oh15 and wap, the way of learning BurstyLDA's strength on ap_blei and "
        "nips0_12; the other corpora were not used. The sections were run "
        "separately; the first row of each includes "
        "the time of compilation. tomotopy and topica were given the CPU seconds of "
        "the model above them; topica's HDP had not ended on ap_blei and oh15 after "
        "eight times as long. NMI of trees is that of the "
        "planted nodes or the classes with the node of a level that has most of a "
        "document, all below it included; of LDA, of the largest topic. The passes of "
        "super-topics were chosen on bbc_news_octis, oh15, wap and k1b.",
    ]
    for key, (_, title, head) in SECTIONS.items():
        if key not in done:
            continue
        n_columns = head.count("|") + 1
        found += ["", f"## {title}", "", f"| {head} |", "| --- " * n_columns + "|"]
        found += [f"| {' | '.join(row)} |" for row in done[key]]
    return "\n".join(found) + "\n"


if __name__ == "__main__":
    main()
