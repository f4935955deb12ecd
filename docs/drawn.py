# SPDX-License-Identifier: BSD-3-Clause
"""Speeches of an invented town council, for the pages that answer a question.

They are drawn, so the truth is known: which subject each sentence is about, how the two
parties differ, and what changed over the years. ``python docs/drawn.py`` writes
speeches.csv, links.txt and vectors.npy into the current folder.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

# Nouns in English and German; the verbs are shared by the sentences of a subject.
SUBJECTS: dict[str, tuple[str, str, str]] = {
    "schools": (
        "teacher classroom pupil playground library lesson headmaster nursery "
        "exam timetable canteen textbook",
        "Lehrer Klassenzimmer Schüler Pausenhof Bücherei Unterricht Schulleiter "
        "Kindergarten Prüfung Stundenplan Mensa Lehrbuch",
        "teach enrol repaint staff",
    ),
    "roads": (
        "bridge pavement junction pothole bus cyclist lorry crossing "
        "roundabout tram parking traffic",
        "Brücke Gehweg Kreuzung Schlagloch Bus Radfahrer Lastwagen Übergang "
        "Kreisel Straßenbahn Parkplatz Verkehr",
        "repair widen resurface close",
    ),
    "housing": (
        "tenant rent landlord apartment builder mortgage roof heating "
        "courtyard lease basement architect",
        "Mieter Miete Vermieter Wohnung Bauherr Hypothek Dach Heizung "
        "Innenhof Pachtvertrag Keller Architekt",
        "insulate renovate let demolish",
    ),
    "budget": (
        "tax loan deficit invoice auditor surplus treasurer grant "
        "expense levy bond interest",
        "Steuer Kredit Defizit Rechnung Prüfer Überschuss Kämmerer Zuschuss "
        "Ausgabe Abgabe Anleihe Zins",
        "borrow audit refund balance",
    ),
    "parks": (
        "tree meadow pond bench gardener hedge squirrel fountain "
        "lawn bandstand orchard picnic",
        "Baum Wiese Teich Bank Gärtner Hecke Eichhörnchen Brunnen "
        "Rasen Pavillon Obstgarten Picknick",
        "plant prune mow water",
    ),
    "internet": (
        "cable router website download password server broadband mast "
        "email screen laptop software",
        "Kabel Router Webseite Download Passwort Server Breitband Mast "
        "Mail Bildschirm Laptop Software",
        "connect install upgrade encrypt",
    ),
}
SENTENCES = (
    "We must {verb} the {a} before winter, and then the {b}.",
    "The {a} and the {b} were promised long ago.",
    "Who will {verb} the {a} if the {b} is forgotten?",
    "My neighbours write to me about the {a}, the {b} and the {c}.",
    "Nobody voted against the {a}, and we still did not {verb} it.",
    "I ask the mayor to look at the {a} and to {verb} the {b}.",
    "Last spring a visitor laughed at our {a}.",
    "Let us {verb} the {a} first: the {b} can wait another week.",
    "My grandmother remembers the old {a} and the old {b}.",
    "The newspaper printed a photograph of the {a} beside the {b}.",
    "Every complaint that reached this office was about the {a}.",
    "If we {verb} the {a} today, our children will thank us for the {b}.",
    "The committee counted each {a} twice and missed the {b}.",
    "It is a scandal that no one can {verb} the {a} in this town.",
    "Other towns have the {a}, the {b} and the {c}; we have excuses.",
    "I agree with the last speaker about the {a}, not about the {b}.",
)
GERMAN = (
    "Wir reden zu wenig über {a} und {b}.",
    "Was wird aus {a}, {b} und {c}?",
    "Ich bitte um Auskunft über {a}.",
)
SPEAKERS = tuple(
    name
    for line in (
        "Archer Bennet Cole Drew Ellis Frost Grant Hale Irving Jarvis Kerr Lane",
        "Moss Nash Odell Price Quinn Reed Stone Tate Usher Vale Ward York",
    )
    for name in line.split()
)
COLUMNS = ("text", "german", "party", "speaker", "date", "applause", "main")
PARTIES = ("Harbour", "Valley")
FIRST_YEAR, LAST_YEAR = 2006, 2025


def expected_shares(party: str, year: int) -> Any:
    """Return the shares of the subjects that a speech is drawn around."""
    weights = np.full(len(SUBJECTS), 1.0)
    names = list(SUBJECTS)
    along = (year - FIRST_YEAR) / (LAST_YEAR - FIRST_YEAR)
    weights[names.index("internet")] = 0.2 + 1.6 * along
    weights[names.index("parks")] = 1.4 - 0.8 * along
    weights[names.index("housing")] += 1.0 * (party == "Valley")
    weights[names.index("roads")] += 0.8 * (party == "Harbour")
    return weights / weights.sum()


def speeches(n: int = 600, seed: int = 0) -> dict[str, list[Any]]:
    """Return columns: text, german, party, speaker, date, applause, main."""
    rng = np.random.default_rng(seed)
    words = {
        name: (english.split(), german.split(), verbs.split())
        for name, (english, german, verbs) in SUBJECTS.items()
    }
    # A speaker has a party, and a favourite subject.
    favourite = rng.permutation(np.arange(len(SPEAKERS)) % len(SUBJECTS))
    columns: dict[str, list[Any]] = {
        name: []
        for name in ["text", "german", "party", "speaker", "date", "applause", "main"]
    }
    for _ in range(n):
        speaker = int(rng.integers(len(SPEAKERS)))
        party = PARTIES[speaker % 2]
        year = int(rng.integers(FIRST_YEAR, LAST_YEAR + 1))
        month, day = int(rng.integers(1, 13)), int(rng.integers(1, 29))
        around = (
            expected_shares(party, year)
            + 0.25 * np.eye(len(SUBJECTS))[favourite[speaker]]
        )
        shares = rng.dirichlet(3.0 * around / around.sum())
        said, counted, german = [], np.zeros(len(SUBJECTS)), []
        for _ in range(int(rng.integers(6, 15))):
            subject = int(rng.choice(len(SUBJECTS), p=shares))
            english, nouns, verbs = words[list(SUBJECTS)[subject]]
            places = rng.choice(len(english), 3, replace=False)
            parts = dict(zip("abc", (english[p] for p in places), strict=True))
            said.append(
                str(rng.choice(SENTENCES)).format(verb=rng.choice(verbs), **parts)
            )
            other = dict(zip("abc", (nouns[p] for p in places), strict=True))
            german.append(str(rng.choice(GERMAN)).format(**other))
            counted[subject] += 1
        mixture = counted / counted.sum()
        # The council applauds parks, and not taxes.
        pleased = 3 + 4 * mixture[4] - 3 * mixture[3] + 0.5 * rng.standard_normal()
        columns["text"].append(" ".join(said))
        columns["german"].append(" ".join(german))
        columns["party"].append(party)
        columns["speaker"].append(SPEAKERS[speaker])
        columns["date"].append(f"{year}-{month:02}-{day:02}")
        columns["applause"].append(round(float(np.clip(pleased, 0, 10)), 1))
        columns["main"].append(list(SUBJECTS)[int(np.argmax(counted))])
    return columns


def links(columns: dict[str, list[Any]], seed: int = 0) -> Any:
    """Return pairs of speeches, mostly on one subject: one replies to the other."""
    rng = np.random.default_rng(seed)
    main = np.array(columns["main"])
    pairs = []
    for speech in range(1, len(main)):
        same = np.flatnonzero(main[:speech] == main[speech])
        if len(same) and rng.random() < 0.8:
            pairs.append((speech, int(rng.choice(same))))
    return np.array(pairs)


def vectors(columns: dict[str, list[Any]], seed: int = 0) -> Any:
    """Return vectors as an encoder gives them: near for speeches of one subject."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((len(SUBJECTS), 16))
    places = [list(SUBJECTS).index(name) for name in columns["main"]]
    noise = rng.standard_normal((len(places), 16))
    return (centres[places] + 0.7 * noise).astype(np.float32)


def write(folder: Path | str = ".", n: int = 600) -> None:
    """Write speeches.csv, links.txt and vectors.npy."""
    folder = Path(folder)
    columns = speeches(n)
    with (folder / "speeches.csv").open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(columns)
        table.writerows(zip(*columns.values(), strict=True))
    pairs = "".join(f"{one} {other}\n" for one, other in links(columns))
    (folder / "links.txt").write_text(pairs, encoding="utf-8")
    np.save(folder / "vectors.npy", vectors(columns))


if __name__ == "__main__":
    write()
