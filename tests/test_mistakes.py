# SPDX-License-Identifier: BSD-3-Clause
"""Mistakes that people make, and the one line that helps."""

import gzip
import io
import shlex
import warnings
from pathlib import Path

import numpy as np
import pandas
import pytest
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.model_selection import GridSearchCV
from typer.testing import CliRunner

from topicfold import (
    LDA,
    PLSA,
    AuthorTopics,
    DynamicLDA,
    GibbsLDA,
    LaplacianPLSA,
    RelationalLDA,
    SupervisedLDA,
    TopicClassifier,
    Topics,
    compare,
    select_n_components,
)
from topicfold.cli.main import app
from topicfold.corpus import read, read_texts, vectorize
from topicfold.editing import apply_edits
from topicfold.exceptions import DataError, DataWarning, EmptyDocumentWarning
from topicfold.registry import find_model

CHINESE = [
    "我昨天在北京的大学里看到了一只红色的狐狸",
    "蓝色的鱼在深深的大海里面游来游去",
]


@pytest.fixture
def texts(tmp_path):
    file = tmp_path / "texts.txt"
    file.write_text("red fox wood\nfox in the red wood\nblue fish sea\n" * 2)
    return file


def _error(*arguments):
    done = CliRunner().invoke(app, [str(item) for item in arguments])
    assert done.exit_code == 2, done.output
    (line,) = [x for x in done.stderr.splitlines() if x.startswith("error:")]
    return line


def test_more_topics_than_documents(texts, tmp_path):
    line = _error("fit", texts, "-k", 5000, "-o", tmp_path / "m")
    assert "5,000 topics are more than the 6 documents" in line
    assert "--topics 2;" in line


def test_missing_graph_file(texts, tmp_path):
    graph = ("-m", "laplacian", "--graph", tmp_path / "nowhere.txt")
    line = _error("fit", texts, "-k", 2, *graph, "-o", tmp_path / "m")
    assert "there is no file" in line
    assert "the numbers of two documents" in line


def test_an_edit_is_named_in_words(texts, tmp_path):
    model = PLSA(2, random_state=0).fit(np.eye(3))
    with pytest.raises(
        DataError, match=r"Edit 0 \(merge 0, 99\): There is no topic 99"
    ):
        apply_edits(model, [{"action": "merge", "topics": [0, 99]}])
    with pytest.raises(
        DataError, match=r"Edit 0 \(rename 7 space\): There is no topic"
    ):
        apply_edits(model, [{"action": "rename", "topic": 7, "name": "space"}])


def test_chinese_text_is_said_to_need_cutting():
    with pytest.warns(DataWarning, match=r"Chinese or Japanese.*jieba\.lcut") as seen:
        vectorize(CHINESE, min_df=1, max_df=1.0)
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vectorize(CHINESE, min_df=1, max_df=1.0, tokens=list)


def test_a_grid_search_warns_of_empty_documents_once():
    X = np.random.default_rng(0).poisson(1.0, (30, 8))
    X[::5] = 0
    search = GridSearchCV(PLSA(random_state=0, max_iter=3), {"n_components": [2, 3]})
    with pytest.warns(EmptyDocumentWarning) as seen:
        search.fit(X)
    # One for all splits; the last fit, on all documents, is the same line's.
    assert len(seen) == 1
    assert seen[0].filename == __file__
    with pytest.warns(EmptyDocumentWarning):
        search.best_estimator_.transform(X)


def test_a_choice_among_many_fits_does_not_warn_of_each():
    X = np.random.default_rng(0).poisson(1.0, (30, 12))
    model = LDA(max_iter=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        select_n_components(model, X, [2, 3], n_words=3, n_restarts=2)


def test_texts_given_to_an_estimator():
    frame = pandas.DataFrame({"text": ["red fox", "blue fish"]})
    for texts in (frame.text, frame.text.astype("category"), frame.text.to_numpy()):
        with pytest.raises(
            DataError, match=r"X holds strings, .*topicfold\.Topics takes"
        ):
            LDA(2).fit(texts)
    with pytest.raises(DataError, match="X is a generator, but one matrix"):
        LDA(2).fit(text for text in frame.text)


@pytest.mark.parametrize(
    ("documents", "problem"),
    [
        ([1, 2], r"document 0 is a number \(1\)\. Give a string"),
        (["a fox", 2.5], r"document 1 is a number \(2\.5\)"),
        (["a fox", None], "document 1 is missing"),
        (["a fox", float("nan")], "document 1 is missing"),
        (["a fox", ["b"]], "document 1 is a list"),
        ([b"fox"], "document 0 is of type bytes"),
        ([{"text": "fox"}], "document 0 is an object"),
    ],
)
def test_documents_that_are_no_texts_are_named_in_words(documents, problem):
    with pytest.raises(DataError, match=problem):
        Topics(2).fit(documents)


def test_a_report_makes_no_folders(tmp_path):
    topics = Topics(2, min_df=1).fit(["red fox", "fox wood", "blue sea", "sea fish"])
    with pytest.raises(DataError, match=r"no folder .*nowhere\. Make it, or give"):
        topics.report(tmp_path / "nowhere" / "report.html")
    assert not list(tmp_path.iterdir())


def test_models_of_other_libraries_and_of_two_meanings(caplog):
    with pytest.raises(
        DataError, match=r"no model 'BERTopic'\. It learns from embeddings"
    ):
        find_model("BERTopic")
    with pytest.raises(DataError, match="The closest is plsa"):
        find_model("nmf")
    assert find_model("DTM").name == "discriminative"
    assert "'DTM' is the discriminative topic model" in caplog.text
    assert "not a dynamic one" in caplog.text
    caplog.clear()
    assert find_model("discriminative").shown == "DTM"
    assert caplog.text == ""


# A command, and what a person who has read nothing must find in the answer.
COMMANDS = {
    "fit": "Missing argument 'INPUT'. Try topicfold fit --help",
    "fti texts.txt": "Did you mean 'fit'?",
    "fit nowhere.txt -o n": "does not exist. Give a file or a folder",
    "fit empty.txt -o n": "has no documents. Is it the file you meant?",
    "fit folder -o n": "has no .txt files. Put one document into each",
    "fit page.docx -o n": "Export it as text first",
    "fit page.pdf -o n": "Export it as text first",
    "fit odd.foo -o n": "Give a folder of .txt files, a .txt file",
    "fit bad.jsonl -o n": "line 2: not valid JSON",
    "fit lines.csv -o n": "an object of JSON in every line. Choose the format",
    "fit table.jsonl -o n": "columns 'text', 'party'. Choose the format: --from csv",
    "fit short.csv -o n": "line 3: 1 fields, but the first line has 2. Write ','",
    "fit titles.csv -o n": "It has 'title', 'summary'; name the one with the text by",
    "fit t.csv --text body -o n": "no column 'body'. It has 'text', 'party'",
    "fit t.csv --label partie -o n": "Did you mean 'party'?",
    "fit texts.txt --text text -o n": "has no columns, so text has no meaning. Leave",
    "fit one.txt -o n": "One document is too few",
    "fit same.txt -k 2 -o n": "are the texts all the same?",
    "fit texts.txt -k 0 -o n": "give 1 or more",
    "fit texts.txt -k ten -o n": "'--topics' / '-k': give a whole number",
    "fit texts.txt -k 2": "Missing option '--output' / '-o'",
    "fit texts.txt -k 2 -o m": "m holds a topicfold model. Replace it with --force",
    "fit texts.txt -k 2 -o texts.txt": "is a file. Choose a new folder",
    "fit texts.txt -k 2 --model bertopic -o n": "take embeddings too",
    "fit texts.txt -k 2 --model ldaa -o n": "Did you mean lda?",
    "fit texts.txt -k 2 --model fstm-c -o n": "Name the column of the labels with",
    "fit texts.txt -k 2 --embeddings bad.npy -o n": "Write the vectors with numpy.save",
    "fit texts.txt -k 2 --embeddings v3.npy -o n": "3 embeddings for 20 documents",
    "fit texts.txt -k 2 --embeddings no.npy -o n": "No such file",
    "fit t.csv -k 2 --links links.txt -o n": "link 0 names document 99",
    "fit t.csv -k 2 --links no.txt -o n": "the numbers of two documents",
    "fit texts.txt -k 2 --seeds seeds.txt -o n": "Write its name, a colon and words",
    "fit t.csv -k 2 --authors writer -o n": "no column 'writer'. It has 'text'",
    "fit t.csv -k 2 --response party --response-kind real -o n": "is not a number",
    "fit texts.txt -k 2 --stop-words klingon -o n": "Give one of",
    "fit texts.txt -k 2 --min-df 50 -o n": "--min-df 50 is more than the 20 documents",
    "fit texts.txt -k 2 --max-df 0 -o n": "nor a share of them",
    "fit latin.csv -k 2 --encoding utf8 -o n": "for instance --encoding latin-1",
    "topics nowhere": "There is no file or folder nowhere",
    "topics folder": "is not a saved model",
    "topics texts.txt": "Only files saved by topicfold can be loaded",
    "transform m nowhere.csv": "does not exist. Give a file or a folder",
    "transform m empty.txt": "has no documents. Is it the file you meant?",
    "search m": "give exactly one of QUERY, --topic, --like and --word",
    "search m zebra": "The vocabulary of the model lacks 'zebra'. Try other words",
    "search m ''": "the query is empty. Give at least one word",
    "search m --topic 9": "there is no topic 9. Give a number, 0 to 1",
    "edit m -o e": "Give --rename, --merge, --drop, --split or --apply",
    "edit m --merge 1 -o e": "Give at least two different topics to merge",
    "edit m --merge 0,7 -o e": "There is no topic 7; topics are 0 to 1",
    "edit m --rename space -o e": "give TOPIC=NAME, such as 3=space",
    "edit m --drop 0,1 -o e": "All topics would be dropped. Keep at least one",
    "edit m --drop first -o e": "'first' is not the number of a topic",
    "classify m texts.txt": "Train a classifier first: topicfold classify DIR LABELLED",
    "classify c texts.txt --train": "column of the labels with --label",
    "classify c t.csv --train --label starz": "Did you mean 'stars'?",
    "effects m few.csv --formula '~ party'": "data has 1 rows, and there are 20",
    "effects m t.csv --formula '~ side'": "data has no column 'side'. It has text",
    "effects m no.csv --formula '~ party'": "there is no file no.csv",
    "compare texts.txt --models lda,foo": "there is no model 'foo'. Models:",
    "fit texts.txt -m hlda -o e": "'hlda'. It is tree with the algorithm crp.",
    "choose-k texts.txt -k 5-10": "whole numbers separated by commas",
    "report m -o nowhere/x.html": "there is no folder nowhere. Make it, or give",
    "report m --figures texts.txt": "is a file. Give a folder for the figures",
    "convert texts.txt out.foo": "does not tell which format to write",
    "quiz m --score no.csv": "there is no file no.csv",
    "update m nowhere.txt": "does not exist. Give a file or a folder",
    "update m texts.txt --topics 3": "Possible options: --new-topics",
    "show m": "No such command 'show'. Commands: choose-k, classify",
    "fit texts.txt --k 5 -o n": "Did you mean -k?",
    "fit texts.txt -k 2.5 -o n": "'--topics' / '-k': give a whole number",
    "fit texts.txt t.csv -k 2 -o n": "Put several files into one folder",
    "fit https://a.org/b.csv -o n": "Download the file, and give its name",
    "fit 'red fox' -k 2 -o n": "red fox does not exist. Give a file or a folder",
    "fit t.csv --label text -o n": "'text' is the column of the text",
    "fit t.csv --prevalence 'party + stars' -o n": "a formula begins with ~. Give",
    "fit texts.txt -k 2 --device gpu -o n": "The 'device' parameter of LDA must be",
    "fit texts.txt -k 2 --ngrams two -o n": "Give the longest run of words",
    "fit t.csv -k 2 --embeddings t.csv -o n": "give a NumPy file, FILE.npy",
    "transform texts.txt m": "give the folder of a saved model",
    "transform m texts.txt -o out.docx": "ending in .csv, .parquet or .npz",
    "search 'sparse matrix' m": "Give the folder of a saved model",
    "search m --like 99": "there is no document 99; rows are 0 to 19",
    "effects m t.csv": "Missing option '--formula'",
    "effects m t.csv --formula '~ party' --plot x.jpg": "with .png, .svg or .pdf",
    "effects m t.csv --formula '~ party' --topics 7": "There is no topic 7; topics are",
    "choose-k texts.txt -k 50": "50 topics are more than the 20 documents",
    "compare t.csv --budget 0": "'--budget': give 0.1 or more",
    "edit m --split 0:1 -o e": "a whole number from 2 to the number of words",
    "quiz m --score t.csv": "Give a sheet that topicfold quiz --sheet wrote",
    "quiz m --sheet nowhere/sheet.csv": "there is no folder nowhere. Make it",
    "quiz m --kind word": "'--kind': 'word' is not one of 'words', 'topics'",
    "report m -o page.pdf": "would be a page of HTML. Give a name with .html",
    "fit shots -o n": "has no .txt files",
    "fit nested.jsonl -o n": "body.text, body.lang. Name one of them with --text.",
    "fit t.csv --text stars -k 2 -o n": "no words to count in 20 texts",
    "fit t.csv --sheet 1 -o n": "has no sheets. Leave --sheet out",
    "fit t.csv -k 2 -m structural -o n": "needs --prevalence or --content",
    "fit t.csv -k 2 -m rtm -o n": "The model rtm needs --links",
    "fit t.csv -k 2 -m slda -o n": "Name the column of the labels with --label",
    "fit t.csv -k 2 -m dynamic --time stars --min-df 0 -o texts.txt": "is a file",
    "fit t.csv -k 2 --stop-words klingon -o n": "is not a language with stop words",
    "fit t.csv -k 2 --stem klingon -o n": "is not a language that can be stemmed",
    "fit t.csv -k 2 --from pdf -o n": "the format 'pdf' is not known here. Give one",
    "fit t.csv -k 2 --encoding utf-99 -o n": "the encoding 'utf-99' is not known",
    "fit t.csv -k 2 --max-df 200% -o n": "or a share of them, such as 0.5",
    "fit t.csv -k 2 --min-df 19 --max-df 2 -o n": "Lower --min-df or raise --max-df",
    "fit t.csv -k 2 --ngram 2 -o n": "Possible options: --from, --graph, --ngrams",
    "fit a.txt b.txt c.txt d.txt e.txt -k 2 -o n": "(b.txt c.txt d.txt …). Put several",
    "fit m -k 2 -o n": "the folder m has no .txt files",
    "choose-k texts.txt -k 2 3 4": "separate values by commas",
    "compare t.csv --models lda plsa": "separate values by commas",
    "edit m --merge 0-1 -o e": "several separated by commas: 1,4",
    "edit m --apply nowhere.json -o e": "there is no file nowhere.json",
    "edit m --apply t.csv -o e": "is not valid JSON",
    "effects m t.csv --formula 'topic0 ~ party'": "begin the formula with ~",
    "effects m t.csv --formula '~ Party'": "did you mean 'party'?",
    "effects m t.csv --formula '~ s(party)'": "Write dates like 2001-05-03",
    "effects m t.csv --formula '~ party' --adjust all": "Give 'holm', 'fdr' or None",
    "effects m t.csv --formula '~ party' --cluster who": "no column 'who' for cluster",
    "effects m odd.csv --formula '~ the party'": "into backquotes: `the party`",
    "effects m t.csv --sheet 2 --formula '~ party'": "has no sheets. Leave --sheet",
    "effects m t.csv --formula '~ party' --report x.pdf": "Give a name with .html",
    "transform t.csv m": "give the folder of a saved model",
    "topics t.csv": "give the folder of a saved model",
    "search m red fox": "write words with spaces in quotes",
    "info folder": "it has no model.safetensors",
    "classify c t.csv --train --label text": "'text' is the column of the text",
    "label t.csv": "Missing argument 'LABELS'",
    "fit twice.csv -k 2 -o n": "has 2 columns named 'text'. Rename all but one",
    "fit quote.csv -k 2 -o n": "line 2: a quote is opened here and never closed",
    "fit api.json -k 2 -o n": "its field 'items' has a list of objects. Write that",
    "fit numbers.json -k 2 -o n": "neither a list of objects nor one of strings",
    "fit wide.csv --encoding utf-8 -o n": "the mark of utf-16, so it is not utf-8",
    "fit torn.txt.gz -k 2 -o n": "Copy or compress it again",
    "fit nested.jsonl --text Body.txt -o n": 'Did you mean "body.text"?',
    "fit unnamed.csv -k 2 -o n": "It has 'a red fox in the wood and a blue fish in…';",
    "fit t.csv -k 2 --neighbors 3 -o n": "a model that has it: laplacian, local",
    "fit t.csv -k 2 --weight 1 -o n": "has no option --weight. Leave it out, or",
    "fit t.csv --label party --label-topics -k 2 -o n": "no option --topics. Leave it",
    "fit t.csv -k 2 -m laplacian --similarity cos -o n": "cosine, intersection, kl",
    "fit t.csv -k 2 --jobs 0 -o n": "Give 1 or more, or -1 for all cores",
    "fit t.csv -k 2 --response day -o n": "20 documents have 20 different labels",
    "fit t.csv -k 2 --response stars --response-kind number -o n": "Give one of real",
    "fit t.csv -k 2 --features stars,party -o n": "no column 'stars,party'",
    "fit t.csv -k 2 --content day -o n": "one document of the group '2001-01-01'",
    "fit t.csv -k 2 --prevalence '~ (stars' -o n": "cannot be read. Formulas have",
    "fit t.csv -k 2 --language german -o n": "has no column 'german'. It has 'text'",
    "fit t.csv -k 2 --ngrams 0 -o n": "Give the longest run of words",
    "fit t.csv -k 2 --tokens my:cut -o n": "or a function as MODULE:FUNCTION",
    "fit t.csv -k 2 --tokens letters -o n": "Give one of words, spaces, or",
    "fit t.csv -k 2 --algorithm gibs -o n": "Got 'gibs' instead",
    "fit t.csv -k 2 --embeddings flat.npy -o n": "of shape (documents, dimensions)",
    "fit t.csv -k 2 --embeddings gaps.npy -o n": "or give rows of zeros for them",
    "fit t.csv -k 2 --about a.txt -o n": "--about-embeddings their vectors. Give both",
    "fit t.csv -k 2 --seeds empty.txt -o n": "has no",
    "fit t.csv -k 2 --seeds unknown.txt -o n": "No seed word of 'space' is in the voc",
    "fit t.csv -k 2 --links ab.txt -o n": "'a b' is not a link. Give the numbers of",
    "fit m/model.safetensors -k 2 -o n": "the suffix '.safetensors', which is not read",
    "fit '*.csv' -k 2 -o n": "does not exist. Give a file or a folder",
    "transform m v3.npy": "the suffix '.npy', which is not read",
    "search m fox --like 3": "give exactly one of QUERY, --topic, --like and --word",
    "search m --like t3.txt": "Documents have no ids; give a row, 0 to 19",
    "search named --like speech7x": "Did you mean 'speech7'?",
    "search m fox --query-embeddings v3.npy": "has 3 rows. Give 1",
    "search m fox --mix 3": "give 1 or less",
    "edit m --merge 0,1 --drop 1 -o e": "named twice in --merge and --drop",
    "edit m --apply three.json -o e": "has no edits. Give",
    "edit m --drop 1 --undo -o e": "No such option: --undo",
    "info t.csv": "give the folder of a saved model",
    "report m -o folder": "is a folder. Give the name of a file for --output",
    "report m --against nowhere -o x.html": "There is no file or folder nowhere",
    "quiz m --sheet sheet.xlsx": "would be a CSV file. Give a name with .csv",
    "convert t.csv out.npz --to foo": "the format 'foo' is not known here. Give one",
    "convert t.csv out.csv": "Name it with --to: one of ldac",
    "convert t.csv folder": "already exists. Choose another name",
    "classify c t.csv --train --label day": "Are they names, dates or numbers?",
    "effects m t.csv --formula '~ stars +'": "Write columns joined by +, * or :",
    "effects m t.csv --formula '~ 1'": "has no covariate. Name a column",
    "effects m t.csv --formula '~ stars' --plot nowhere/x.png": "no folder nowhere",
    "choose-k t.csv -k 2,3 --plot nowhere/x.png": "no folder nowhere. Make it, or",
    "choose-k t.csv -k 2,3 --plot x.foo": "Give a name with .png, .svg or .pdf",
    "choose-k t.csv -k 0,5": "Give whole numbers separated by commas",
    "topics m --format xml": "'xml' is not one of 'table', 'csv', 'json'",
    "fit t.csv --authors party --prevalence '~ stars' -k 2 -o n": "cannot be combined",
    "fit texts.txt -k 2 --random-state 3 -o n": "Did you mean --seed?",
    "fit texts.txt -k 2 --iterations 50 -o n": "Did you mean --max-iter?",
    "transform m t.csv -o nowhere/out.csv": "no folder nowhere. Make it, or give",
    "edit m --split 0=2 -o e": "give TOPIC:PARTS, such as 2:3",
    "edit m --rename 0=a --rename 0=b -o e": "named twice in --rename. Name it once",
    "update folder t.csv": "is not a saved model",
    "effects m t.csv --formula '~ stars + (1|party)'": "'~ party | party'",
    "effects t.csv m --formula '~ party'": "give the folder of a saved model",
    "fit folder -k 2 --label party -o n": "has no columns, so label has no meaning",
    "fit t.csv --links t.csv -k 2 -o n": "is not a link. Give the numbers of two",
    "choose-k texts.txt -k 5..20": "whole numbers separated by commas",
    "search m 'the of and'": "are stop words, which the model leaves out",
    "demo extra": "Got unexpected extra argument(s) (extra)",
}
COUNTS = np.random.default_rng(0).poisson(1.0, (20, 8))
TEXTS = ["red fox wood", "fox in the red wood", "blue fish sea", "fish in a sea"] * 5
DAYS = [f"2001-01-{day:02}" for day in range(1, 21)]
FRAME = pandas.DataFrame({"text": TEXTS, "party": ["a", "b"] * 10, "day": DAYS})
CALLS = {
    "a text that is no file": (
        lambda: Topics(2).fit("a text that is not a file"),
        "Texts are given as a list, one string per document",
    ),
    "model first": (lambda: Topics("lda").fit(TEXTS), "Give a whole number"),
    "labels of other length": (
        lambda: Topics(2).fit(TEXTS, ["a", "b"]),
        "there are 2 labels for 20 documents. Give one per document",
    ),
    "nothing": (lambda: Topics(2).fit([]), "The list is empty. Give a list of texts"),
    "before fit": (lambda: Topics(2).words(0), "is not fitted yet"),
    "estimator before fit": (lambda: LDA(2).transform(COUNTS), "is not fitted yet"),
    "no topics": (lambda: LDA(0).fit(COUNTS), "must be an int in the range"),
    "negative": (lambda: LDA(2).fit(-COUNTS), r"negative entries \(first at row 0"),
    "missing": (lambda: LDA(2).fit(np.full((3, 3), np.nan)), "9 NaN entries"),
    "one row": (lambda: LDA(2).fit(COUNTS[0]), "Expected 2D array, got 1D array"),
    "other columns": (
        lambda: LDA(2).fit(COUNTS).transform(COUNTS[:, :3]),
        "X has 3 features, but LDA is expecting 8",
    ),
    "gensim's alpha": (lambda: LDA(2, alpha=0.1), "Did you mean doc_topic_prior"),
    "weights": (
        lambda: GibbsLDA(2).fit(COUNTS * 0.5),
        "so it needs counts; for weights",
    ),
    "authors of others": (
        lambda: AuthorTopics(2).fit(COUNTS, authors=[["ann"]]),
        "authors has 1 rows, but X has 20 documents",
    ),
    "links to nobody": (
        lambda: RelationalLDA(2).fit(COUNTS, links=[[0, 99]]),
        "numbered from 0 to 19",
    ),
    "a class": (lambda: Topics(2, model=LDA).fit(TEXTS), r"object of it: LDA\(\)"),
    "a class to choose": (
        lambda: select_n_components(LDA, COUNTS, [2, 3]),
        r"object of it: LDA\(\)",
    ),
    "half a topic": (lambda: Topics(2.5).fit(TEXTS), "Give a whole number"),
    "sizes as text": (
        lambda: select_n_components(LDA(), COUNTS, "5,10"),
        "must be an integer or a list of integers",
    ),
    "an encoder's name": (
        lambda: Topics(2, encoder="all-MiniLM-L6-v2").fit(TEXTS),
        "topicfold downloads no encoder",
    ),
    "vectors of others": (
        lambda: Topics(2, min_df=1).fit(TEXTS, embeddings=np.zeros((3, 4))),
        "there are 3 embeddings for 20 documents",
    ),
    "one class": (
        lambda: TopicClassifier().fit(COUNTS, [0] * 20),
        "a classifier needs at least two",
    ),
    "another program's seed": (lambda: LDA(2, seed=1), "Did you mean random_state"),
    "texts to compare": (lambda: compare(TEXTS), "X holds strings, .*Topics takes"),
    "an estimator to compare": (
        lambda: compare(COUNTS, LDA()),
        r"Give their names, such as \['lda', 'plsa'\]",
    ),
    "a name to choose": (
        lambda: select_n_components("lda", COUNTS, [2, 3]),
        r"model is 'lda'\. Give an estimator, such as LDA\(\)",
    ),
    "an option nearly": (lambda: Topics(2, n_topic=3), "It is n_topics"),
    "a prior of three": (
        lambda: LDA(2, doc_topic_prior=[1.0, 2.0, 3.0]).fit(COUNTS),
        "give one number or n_components=2 of them",
    ),
    "a response of two": (
        lambda: SupervisedLDA(2).fit(COUNTS, response=[1.0, 2.0]),
        "Give one number per document, NaN where it is not known",
    ),
    "no response": (
        lambda: SupervisedLDA(2).fit(COUNTS),
        "Give a response per document, or use LDA",
    ),
    "odd times": (
        lambda: DynamicLDA(2).fit(COUNTS, time=["soon"] * 20),
        "time has 'soon', which is neither a number nor a date",
    ),
    "no words": (lambda: LDA(2).fit(np.zeros((5, 4))), "have no non-zero entry"),
    "texts to a classifier": (
        lambda: TopicClassifier().fit(TEXTS, ["a", "b"] * 10),
        "X holds strings",
    ),
    "a model's name to a classifier": (
        lambda: TopicClassifier(model="LDA").fit(COUNTS, ["a", "b"] * 10),
        "Give a topic model of topicfold",
    ),
    "weights of two": (
        lambda: PLSA(2).fit(COUNTS, sample_weight=[1, 2]),
        r"sample_weight has shape \(2,\) for 20 documents",
    ),
    "the graph's name": (
        lambda: LaplacianPLSA(2, graph="knn").fit(COUNTS),
        "Give a sparse matrix, a square array",
    ),
    "a set": (lambda: Topics(2).fit(set(TEXTS)), "in a set have no order"),
    "an open file": (
        lambda: Topics(2).fit(io.StringIO("red fox")),
        "cannot be an open stream. Give a list",
    ),
    "a dict": (
        lambda: Topics(2).fit(dict(enumerate(TEXTS))),
        r"Did you mean list\(documents\.values\(\)\), or one of them",
    ),
    "two columns of labels": (
        lambda: Topics(2).fit(FRAME, label=["party", "day"]),
        "label= takes the name of one column, and it is of type list",
    ),
    "labels as a column's name": (
        lambda: Topics(2).fit(FRAME, label=FRAME.party),
        "labels themselves are the second argument of fit",
    ),
    "a row without text": (
        lambda: Topics(2).fit(FRAME.assign(text=[None, *TEXTS[1:]])),
        r"row 0 .*Leave such rows out with frame\.dropna\(\)",
    ),
    "a row with a number for a text": (
        lambda: Topics(2).fit(FRAME.assign(text=[3, *TEXTS[1:]])),
        r"row 0 .* is a number \(3\)\. Give a string in every row",
    ),
    "bytes": (lambda: Topics(2).fit(b"texts.txt"), "cannot be of type bytes. Give a"),
    "no documents": (lambda: Topics(2).fit([]), "The list is empty. Give a list of"),
    "no rows": (lambda: Topics(2).fit(FRAME.head(0)), "the data frame has no rows"),
    "labels of others": (
        lambda: Topics(2).fit(TEXTS, ["a", "b"]),
        "2 labels for 20 documents. Give one per document",
    ),
    "names as classes": (
        lambda: TopicClassifier().fit(COUNTS, [f"t{n}" for n in range(20)]),
        "20 documents have 20 different labels. Are they names",
    ),
    "no threads": (lambda: LDA(2, n_jobs=0).fit(COUNTS), "Give 1 or more, or -1"),
    "a frame as labels": (
        lambda: Topics(2).fit(TEXTS, FRAME),
        r"Give one: fit\(X, frame\['column'\]\)",
    ),
    "groups of a frame": (
        lambda: Topics(2).fit(FRAME.groupby("party")),
        r"a list of more than words \(of type DataFrame\)",
    ),
    "pairs of text and label": (
        lambda: Topics(2).fit([("a red fox in the wood", "land")] * 9),
        r"are pairs, such as .*labels are the second argument: fit\(texts, labels\)",
    ),
    "several numbers": (
        lambda: Topics([5, 10]).fit(TEXTS),
        r"n_topics is \[5, 10\]\. Give a whole number, .* or nothing to have one",
    ),
    "the command's ngrams": (
        lambda: Topics(2, ngrams=2),
        r"a pair here: Topics\(20, ngram_range=\(1, 2\)\)",
    ),
    "another library's tokenizer": (
        lambda: Topics(2, tokenizer=str.split),
        "tokens=function",
    ),
    "seed words": (lambda: Topics(2, seeds={"land": ["fox"]}), r"model=SeededLDA\("),
    "vectors as a file": (
        lambda: Topics(2, min_df=1).fit(TEXTS, embeddings="vectors.npy"),
        r"embeddings=numpy\.load\('vectors\.npy'\)",
    ),
    "texts as vectors": (
        lambda: Topics(2, min_df=1).fit(TEXTS, embeddings=TEXTS),
        "embeddings are texts. Give the vectors that an encoder makes",
    ),
    "a table as vectors": (
        lambda: Topics(2, min_df=1).fit(TEXTS, embeddings=FRAME),
        "not a table of numbers: could not convert string to float: 'red fox wood'",
    ),
    "links as a file": (
        lambda: Topics(2).fit(TEXTS, links="links.txt"),
        "Give the values themselves: one per document, or pairs of documents",
    ),
    "authors and covariates": (
        lambda: Topics(2, min_df=1).fit(FRAME, authors="party", prevalence="~ day"),
        "authors and prevalence cannot be combined: leave out one",
    ),
    "an id twice": (
        lambda: Topics(2).fit(FRAME, id="party"),
        "row 2: the id 'a' is already used in row 0. Give every document its own",
    ),
    "whole numbers as a response": (
        lambda: Topics(2, min_df=1).fit(TEXTS, response=list(range(20))),
        "numbers are of kind 'real'",
    ),
    "texts to choose": (
        lambda: select_n_components(LDA(), TEXTS, [2, 3]),
        "X holds strings, .*Topics takes texts as they are",
    ),
    "names of files": (
        lambda: Topics(2).fit([__file__, __file__]),
        r"are names of files .* \[Path\(name\)\.read_text\(\) for name in names\]",
    ),
    "paths of files": (
        lambda: Topics(2).fit([Path(__file__)]),
        "are names of files .*Give the name of their folder",
    ),
    "labels twice": (
        lambda: Topics(2).fit(FRAME, FRAME.party, label="party"),
        "labels are given twice: as y and by label='party'",
    ),
    "another library's model": (
        lambda: Topics(2, min_df=1, model=LatentDirichletAllocation()).fit(TEXTS),
        "Give the name of a model, .* or an estimator of topicfold",
    ),
    "seeds by name alone": (
        lambda: Topics(2, min_df=1, model="seeded").fit(TEXTS),
        r"needs seed words\. Give them to the model: Topics\(model=SeededLDA\(seeds",
    ),
    "no covariates": (
        lambda: Topics(2, min_df=1, model="structural").fit(FRAME),
        "structural needs prevalence= or content=; without them it is correlated",
    ),
    "several files to read": (
        lambda: read(["a.csv", "b.csv"]),
        "path is of type list. Give the name of one file or folder",
    ),
    "a frame to read": (lambda: read(FRAME), "topicfold.Topics takes texts and data"),
    "a file to compare": (
        lambda: compare("t.csv"),
        r"Read the file first: topicfold\.corpus\.read\('t\.csv'\)",
    ),
    "no such model": (lambda: Topics.load("nowhere"), "There is no file or folder"),
}
OF_TOPICS = {
    "rename(0)": r'Give one, such as rename\(0, "space"\)',
    "search(3)": "the query is not a text",
    "transform('red fox')": "Texts are given as a list, one string per document",
    "documents('fox')": "A topic is a whole number. Got 'fox'",
    "over_time([1, 2])": "there are 2 times for 20 documents",
    "plot('words', 'x.jpg')": r"Give one ending in \.png, \.svg or \.pdf",
    "words(9)": "There is no topic 9; topics are 0 to 1",
    "print_topics()": r"Topics has no 'print_topics'\. Use print\(topics\)",
    "over_time()": r"Give times as over_time\(dates\)",
    "by_class()": r"Give them as by_class\(labels\)",
    "plot('pie')": "Give one of words, map, time",
    "merge(1)": r"given as a list, such as \[1, 4\]",
    "effects('~ party')": "Give data= with a row per document",
    "over_time(['soon'] * 20)": r"such as 'soon'\) are not all numbers or all dates",
    "over_time(frame)": r"Give one: over_time\(frame\['column'\]\)",
    "by_class(frame)": r"Give one: by_class\(frame\['column'\]\)",
    "rename('space')": "or names by topic such as",
    "report('x.pdf')": r"Give a name with \.html",
    "update('new text')": "Texts are given as a list, one string per document",
    "effects('~ party', 't.csv')": r"the table itself, such as pandas\.read_csv\('t",
    "effects('~ n', frame.n)": r"data is a Series\. Give data\.to_frame\(\)",
    "drop('fox')": "A topic is a whole number. Got 'fox'",
    "merge('0,1')": r"given as a list, such as \[1, 4\]",
    "rename(['land', 'sea'])": r"give rename\(dict\(enumerate\(names\)\)\)",
    "undo()": r"Use load\(path\) of a model saved before the edit",
    "words(0, 'ten')": "must be a whole number, 1 or more",
    "report('two.html', against=['a'])": "Give fitted Topics or the folder of a saved",
    "predict(['red fox'])": r"Use transform\(texts\)\.argmax",
    "table('ten')": "n must be a whole number, at least 1. Got 'ten'",
    "plot('classes')": "have no labels, so there are no classes to draw",
    "save(__file__)": "is a file. Choose a new folder for the model",
    "split(0, 50)": "from 2 to the number of words",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mistakes")
    rows = [f"{t},{'ab'[i % 2]},{i % 5},{DAYS[i]}" for i, t in enumerate(TEXTS)]
    files = {
        "texts.txt": "\n".join(TEXTS),
        "t.csv": "\n".join(["text,party,stars,day", *rows]),
        "empty.txt": "",
        "one.txt": "red fox",
        "same.txt": "red fox\n" * 20,
        "odd.foo": "red fox",
        "bad.jsonl": '{"text": "a fox"}\n{"text": \n',
        "lines.csv": '{"text": "a fox"}\n' * 3,
        "table.jsonl": "text,party\na fox,b\nfish,a\n",
        "short.csv": "text,party\na fox,b\nfish\n",
        "titles.csv": "title,summary\na,b\n",
        "links.txt": "0 99\n",
        "seeds.txt": "space orbit moon\n",
        "few.csv": "party\na\n",
        "odd.csv": "the party\n" + "a\nb\n" * 10,
        "nested.jsonl": '{"body": {"text": "a fox", "lang": "en"}}\n' * 3,
        "bad.npy": "no",
        "twice.csv": "text,text\na fox,b\n",
        "quote.csv": 'text,party\n"a fox in the wood,b\nred fish,c\n',
        "api.json": '{"status": "ok", "items": [{"text": "a fox"}, {"text": "fish"}]}',
        "numbers.json": "[1, 2, 3]",
        "unnamed.csv": "a red fox in the wood and a blue fish in the deep sea\na\n",
        "three.json": '{"edits": 3}',
        "a.txt": "space\n",
        "ab.txt": "a b\n",
        "unknown.txt": "space: orbit moon\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "latin.csv").write_bytes("text\nFüchse im Wald\n".encode("latin-1") * 3)
    (folder / "wide.csv").write_bytes("text\na fox\n".encode("utf-16"))
    (folder / "torn.txt.gz").write_bytes(gzip.compress(b"a red fox\n" * 9)[:-9])
    (folder / "page.docx").write_bytes(b"PK\x03\x04rest")
    (folder / "page.pdf").write_bytes(b"%PDF-1.4 \xff\xfe")
    np.save(folder / "v3.npy", np.zeros((3, 4)))
    np.save(folder / "flat.npy", np.zeros(20))
    np.save(folder / "gaps.npy", np.full((20, 4), np.nan))
    (folder / "folder").mkdir()
    (folder / "shots").mkdir()
    (folder / "shots" / "page.html").write_text("<p>a red fox")
    Topics(2, min_df=1).fit(TEXTS).save(folder / "m")
    named = FRAME.assign(id=[f"speech{n}" for n in range(20)])
    Topics(2, min_df=1).fit(named).save(folder / "named")
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_answers_a_mistake(command, place, monkeypatch):
    monkeypatch.chdir(place)
    line = _error(*shlex.split(command))
    assert COMMANDS[command] in line
    assert "Traceback" not in line


@pytest.mark.parametrize("mistake", CALLS)
def test_python_answers_a_mistake(mistake):
    call, answer = CALLS[mistake]
    with pytest.raises((ValueError, TypeError, OSError), match=answer):
        call()


@pytest.mark.parametrize("call", OF_TOPICS)
def test_topics_answer_a_mistake(call, place):
    names = {"topics": Topics.load(place / "m"), "frame": pandas.DataFrame({"n": [1]})}
    names["__file__"] = str(place / "t.csv")
    with pytest.raises((ValueError, AttributeError), match=OF_TOPICS[call]):
        eval(f"topics.{call}", names)


def test_a_figure_names_its_options(place):
    with pytest.raises(TypeError, match="no option"):
        Topics.load(place / "m").plot("words", topic=1)


def test_effects_take_tables_of_arrow(place):
    arrow = pytest.importorskip("pyarrow")
    topics = Topics.load(place / "m")
    frame = FRAME.assign(n=range(20))
    found = topics.effects("~ n", arrow.table(frame))
    assert str(found) == str(topics.effects("~ n", frame))


def test_files_of_a_folder_that_are_not_read_are_named(place, tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text("a red fox in the wood")
    (tmp_path / "page.html").write_text("<p>a blue fish")
    with pytest.warns(DataWarning, match=r"1 file is left out of .* \(1 \.html; first"):
        read_texts(tmp_path)


def test_the_table_is_long():
    assert len(COMMANDS) + len(CALLS) + len(OF_TOPICS) >= 290
