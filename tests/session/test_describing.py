# SPDX-License-Identifier: BSD-3-Clause
"""For a paper: a paragraph on methods, BibTeX, stability over restarts."""

import inspect
import re

import numpy as np
import pandas as pd
import pytest

import topicfold
from topicfold import (
    LDA,
    AuthorTopics,
    DynamicLDA,
    HierarchicalDirichletLDA,
    Topics,
    TopicTree,
)
from topicfold.cli.info import model_facts
from topicfold.exceptions import DataError
from topicfold.persistence.model_folder import ModelFolder, load_model_folder
from topicfold.registry import models
from topicfold.session.describing import describe, references
from topicfold.session.views import stability_table

LAND = ["red fox in the wood", "the fox and the wolf in a wood", "a wolf, a red leaf"]
SEA = ["blue sea and fish", "fish in the deep blue sea", "a boat in the deep sea"]
TEXTS = (LAND + SEA) * 10


@pytest.fixture(scope="module")
def topics():
    return Topics(3, random_state=7, max_df=0.9).fit(TEXTS)


def test_the_paragraph_says_what_was_done(topics, tmp_path):
    said = topics.describe().text
    counts, words = topics.fitted_.counts, topics.data_.vocabulary
    for part in (
        "We fitted LDA (latent Dirichlet allocation; Blei et al., 2003;",
        f"with 3 topics to 60 documents with {int(counts.sum())} counted words "
        f"({len(words)} distinct).",
        "We set the number of topics by hand.",
        "Texts were lower-cased and split into words, and English stop words were "
        "removed.",
        "Words in fewer than 2 documents or in more than 90% of the documents were "
        "left out; these were 0 of 10 distinct words, 0.0% of the remaining text.",
        "words in topics ",
        "Topics were learned by collapsed variational Bayes of order zero (CVB0), in ",
        "seed 7.",
        f"Software: topicfold {topicfold.__version__} (Python ",
        f"numpy {np.__version__}",
    ):
        assert part in said
    assert "edited" not in said
    topics.save(tmp_path / "model")
    assert Topics.load(tmp_path / "model").describe().text == said


def test_what_the_bounds_left_out():
    texts = [*TEXTS, "fox unheard quasar"]
    said = Topics(2, min_df=3, stop_words=None, max_df=1.0).fit(texts).describe().text
    words = sum(len(re.findall(r"[a-z]{2,}", text)) for text in texts)
    assert f"were 2 of 15 distinct words, {2 / words:.1%} of the text." in said
    assert "more than" not in said
    assert "stop words" not in said


def test_what_was_removed_from_the_texts():
    texts = [*TEXTS, *(f"<p>{text}</p>" for text in LAND)]
    said = Topics(2).fit(texts).describe().text
    assert "HTML, links and mail headers were removed from 3 documents." in said


def test_how_many_topics_and_why(tmp_path):
    found = Topics(random_state=0).fit(TEXTS * 2)
    said = found.describe().text
    assert "The number of topics was chosen by their stability: two fits agree" in said
    found.save(tmp_path / "model")
    assert Topics.load(tmp_path / "model").describe().text == said


def test_edits_are_told(topics):
    edited = Topics(3, random_state=7, max_df=0.9).fit(TEXTS)
    edited.rename({0: "a", 2: "c"}).merge([0, 2])
    said = edited.describe().text
    assert "with 3 topics to" in said
    assert "edited by hand (2 renamed, 1 merged); 2 are left." in said


def test_other_ways_to_cut():
    pytest.importorskip("snowballstemmer")
    made = Topics(2, min_df=1, stem="english", ngram_range=(1, 2), stop_words=["the"])
    said = made.fit(TEXTS).describe().text
    assert "1 stop words were removed; words were stemmed (Snowball, english)" in said
    assert "terms are runs of 1 to 2 words" in said
    spaces = Topics(2, min_df=0.05, tokens="spaces", max_features=8).fit(TEXTS)
    said = spaces.describe().text
    assert "Texts were split at white space" in said
    assert "fewer than 0.05 of the documents" in said
    assert "all but the 8 most frequent, were left out" in said
    own = Topics(2, min_df=1, tokens=str.split).fit(TEXTS)
    assert "Texts were split by the function builtins:str.split" in own.describe().text


def test_every_reference_of_every_model_is_read():
    for entry in (entry for entry in models() if entry.has_topics):
        found = references(entry.load())
        years = re.findall(r"\((\d{4})\)", _section(entry.load()))
        assert [reference.year for reference in found] == years, entry.name
        for reference in found:
            assert reference.title[0].isupper(), reference
            assert reference.venue, reference
            assert re.fullmatch(r"[a-z]+\d{4}[a-z]+", reference.key)


def test_only_what_was_used_is_cited():
    X, authors = [[3, 2, 0], [0, 1, 4], [1, 0, 3]], [["ann"], ["bob"], ["ann"]]

    def cited(model, **known):
        saved = ModelFolder(model=model.fit(X, **known))
        return describe(saved, saved.topic_data())

    short = {"max_iter": 2, "random_state": 0}
    plain = cited(LDA(2, **short))
    assert "Asuncion et al., 2009)" in plain.text
    assert "hoffman2010" not in plain.bibtex
    variational = cited(LDA(2, algorithm="variational", **short))
    assert "allocation; Blei et al., 2003)" in variational.text
    online = cited(LDA(2, algorithm="variational", batch_size=2, **short))
    assert "Hoffman et al., 2010)" in online.text
    own = cited(AuthorTopics(2, **short), authors=authors)
    assert "; after Rosen-Zvi et al., 2004; Asuncion et al., 2009)" in own.text
    strict = cited(AuthorTopics(2, strict=True, **short), authors=authors)
    assert "; Rosen-Zvi et al., 2004" in strict.text
    assert all("There" not in reference.venue for reference in references(DynamicLDA))


def _section(model):
    _, _, rest = inspect.getdoc(model).partition("References\n----------\n")
    return rest.partition("\n\n")[0]


def test_bibtex(topics):
    entries = topics.describe().bibtex.split("\n\n")
    assert entries[0].splitlines() == [
        "@article{blei2003latent,",
        "  author = {D. Blei and A. Ng and M. Jordan},",
        "  title = {{Latent Dirichlet allocation}},",
        "  year = {2003},",
        "  journal = {JMLR},",
        "  volume = {3},",
        "}",
    ]
    assert entries[1].startswith("@inproceedings{asuncion2009on,")
    assert "  booktitle = {UAI},\n" in entries[1]
    assert entries[-1].startswith("@software{topicfold,")
    assert all(entry.count("{") == entry.count("}") for entry in entries)


def test_no_remark_of_ours_is_in_a_venue():
    found = {r.venue for entry in models() for r in references(entry.load())}
    assert [venue for venue in found if re.search(r"\([A-Z]", venue)] == []


def test_a_crafted_log_is_no_traceback():
    model = LDA(2, random_state=0, max_iter=2).fit([[1, 2], [0, 3]])
    model.edits_ = [{"action": "merge"}, {}]
    saved = ModelFolder(model=model)
    assert "with 2 topics" in describe(saved, saved.topic_data()).text


def test_stability_over_restarts(topics):
    table = topics.stability(3)
    assert [row["topic"] for row in table] == [r["topic"] for r in topics.table()]
    for row in table:
        assert 0 <= row["least"] <= row["stability"] <= 1
        assert row["found"].endswith(" of 3")
    # Fits from one start are the same.
    same = Topics(model=LDA(2, init=topics.data_.topics[:2])).fit(
        topics.fitted_.counts, vocabulary=topics.data_.vocabulary
    )
    assert {row["found"] for row in same.stability(2)} == {"2 of 2"}
    assert min(row["least"] for row in same.stability(2)) > 0.99


def test_embeddings_are_named_and_kept_for_restarts(tmp_path):
    vectors = np.repeat(np.eye(2, 3), 30, axis=0) + np.arange(180).reshape(60, 3) / 900
    topics = Topics(2, min_df=1).fit(TEXTS, embeddings=vectors)
    used = "Besides words, the model used embeddings of the documents."
    assert used in topics.describe().text
    assert [row["found"] for row in topics.stability(2)] == ["2 of 2"] * 2
    topics.save(tmp_path / "m")
    facts = model_facts(tmp_path / "m")
    assert facts["besides"] == ["embeddings of the documents"]


def test_what_cannot_be_fitted_again():
    X = np.array([[5, 4, 0, 0], [4, 6, 0, 0], [0, 0, 3, 5], [3, 0, 3, 4]])
    model = AuthorTopics(2, random_state=0, max_iter=3)
    model.fit(X, authors=[["Ann"], ["Bob"], ["Ann"], ["Bob"]])
    saved = ModelFolder(model=model, counts=X)
    with pytest.raises(DataError, match="also used authors, which only you can give"):
        stability_table(saved, saved.topic_data(), 2)


def test_the_command(tmp_path):
    from typer.testing import CliRunner

    from topicfold.cli.main import app

    def cli(*args):
        return CliRunner().invoke(app, [str(arg) for arg in args])

    file = tmp_path / "texts.txt"
    file.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    assert cli("fit", file, "-o", tmp_path / "m", "-q").exit_code == 0
    done = cli("info", tmp_path / "m", "--describe")
    assert done.exit_code == 0, done.output
    saved = load_model_folder(tmp_path / "m")
    assert done.stdout.strip() == str(describe(saved, saved.topic_data()))
    assert "two fits agree" in saved.chosen
    assert saved.chosen in done.stdout
    both = cli("info", tmp_path / "m", "--describe", "--json")
    assert both.exit_code == 2
    assert "give one of --json and --describe" in both.output


@pytest.mark.filterwarnings("ignore::topicfold.exceptions.DataWarning")
def test_models_that_find_their_number_or_use_more_than_words(tmp_path):
    columns = {"text": TEXTS, "who": ["ann", "bob"] * 30, "side": list("abc") * 20}
    table = pd.DataFrame(columns)
    hdp = HierarchicalDirichletLDA(9, max_iter=20, random_state=0)
    said = Topics(model=hdp).fit(TEXTS).describe().text
    assert "The model found the number of topics (at most 9)." in said
    assert "by 20 sweeps of a Gibbs sampler" in said
    tree = TopicTree(9, max_iter=20, random_state=0)
    said = Topics(model=tree).fit(TEXTS).describe().text
    assert "They form a tree of 3 levels: each was divided into topics" in said
    assert "Topics were learned by CVB0, one node of the tree after another," in said
    assert "Asuncion" in said
    assert "Blei" not in said
    chain = TopicTree(9, algorithm="crp", max_iter=20, random_state=0)
    said = Topics(model=chain).fit(TEXTS).describe().text
    assert "(LDA with topics in a tree; Blei et al., 2010)" in said
    assert "They form a tree of 3 levels, whose branches the model found" in said
    assert "Topics were learned by 20 sweeps of a Gibbs sampler" in said
    said = Topics(2, model="plsa-c").fit(TEXTS, ["land", "sea"] * 30).describe().text
    assert "We fitted PLSA^c (PLSA, then topics that distinguish classes;" in said
    assert "We set the number of topics by hand." in said
    authors = Topics(2, model="authors").fit(table, text="text", authors="who")
    assert "Besides words, the model used authors." in authors.describe().text
    groups = Topics(2, model="structural").fit(table, text="text", prevalence=["side"])
    said = groups.describe().text
    assert "Besides words, the model used covariates of prevalence" in said
    groups.save(tmp_path / "model")
    assert Topics.load(tmp_path / "model").describe().text == said
