#!/usr/bin/env python3
"""Writes golden.jsonl: random sequences of tags with the entities and the report that seqeval finds.

    python3 -m venv V && V/bin/pip install seqeval==1.2.2 scikit-learn==1.9.1 numpy==2.4.6
    V/bin/python tests/golden/entities/make.py

Each line is a case: `tags`, the true and the predicted sequences of its sentences (`labels` and `predictions`, a letter
of LETTERS a word, which is the index of its tag; in the last case, which has 300 types, that index itself), the `entities` of the true ones as [type, first, last], `accuracy`,
and the `report` with so many `digits`. Most sequences are malformed. The tags of every fourth case are, too; such a
case has one sentence, because seqeval then carries a first word over from one sentence to the next.
"""
import json
import pathlib
import random
import string
import warnings

from seqeval.metrics import accuracy_score, classification_report
from seqeval.metrics.sequence_labeling import get_entities

LETTERS = string.ascii_letters
TYPES = ["PER", "LOC", "ORG", "MISC", "a", "B", "x-y", "-", "_", "Zürich", "日本", "a type whose name is long", "é", "e", "T1",
         "T2", "T3", "T4", "T5", "T6"]
ODD = ["B", "I", "E", "S", "O-PER", "X-PER", "LABEL_1", "ORG", "B-", "BX-PER", "ä-PER", "--", "L", "I-"]
SCHEMES = ["BI", "I", "BIES", "BILU", "BIESLU", "BIE"]
CASES = 160


def sentence(rng, tags, outside):
    return [tags[0] if rng.random() < outside else rng.choice(tags) for _ in range(rng.randrange(12))]


def disturbed(rng, tags, labels, share):
    return [rng.choice(tags) if rng.random() < share else label for label in labels]


def result(labels, predictions, digits):
    return {"entities": [[list(entity) for entity in get_entities(words)] for words in labels], "digits": digits,
            "accuracy": accuracy_score(labels, predictions),
            "report": classification_report(labels, predictions, digits=digits, zero_division=0)}


def many_types(rng):
    tags = ["O"] + [f"B-T{number}" for number in range(300)]
    labels = [[rng.choice(tags) for _ in range(1000)]]
    predictions = [disturbed(rng, tags, labels[0], 0.4)]
    coded = [[[tags.index(tag) for tag in words] for words in side] for side in (labels, predictions)]
    return {"tags": tags, "labels": coded[0], "predictions": coded[1], **result(labels, predictions, 15)}


def case(rng, number):
    odd = number % 4 == 3
    types = rng.sample(TYPES, rng.choice([1, 2, 4, 8, 12]))
    tags = [f"{letter}-{kind}" for kind in types for letter in rng.choice(SCHEMES)]
    tags = ["O"] + rng.sample(tags, min(len(tags), len(LETTERS) - 1))
    if odd:
        tags = ["O"] + rng.sample(ODD, 6) + tags[1:4]
    outside, share = rng.random(), rng.choice([0, 0.1, 0.3, 1])
    labels, predictions = [], []
    for _ in range(1 if odd else rng.randrange(1, 40)):
        labels.append(sentence(rng, tags, outside) + (sentence(rng, tags, 0) if odd else []))
        predictions.append(disturbed(rng, tags, labels[-1], share))
    if not any(map(get_entities, labels + predictions)):
        return None  # seqeval fails
    digits = rng.choice([2, 2, 3, 4, 14])
    letters = dict(zip(tags, LETTERS))
    coded = [["".join(letters[tag] for tag in words) for words in side] for side in (labels, predictions)]
    return {"tags": tags, "labels": coded[0], "predictions": coded[1], **result(labels, predictions, digits)}


warnings.simplefilter("ignore")
rng = random.Random(1)
cases = [*filter(None, (case(rng, number) for number in range(CASES))), many_types(rng)]
lines = [json.dumps(made, ensure_ascii=False, separators=(",", ":")) for made in cases]
(pathlib.Path(__file__).parent / "golden.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
print(len(lines), "cases")
