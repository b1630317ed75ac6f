"""gap_row.py HEAD RUN TEST: prints a head's scores on gap-test as a row of a table, computed here from the predictions
of the best checkpoint (RUN/best.csv). Exits with 1 unless RUN/kaggle.csv is valid and bert_train printed the same
scores (RUN.log)."""
import csv
import json
import math
import re
import sys

head, run, test = sys.argv[1:]
MASCULINE = {"he", "him", "his"}
rows = {row["ID"]: row for row in csv.DictReader(open(test), delimiter="\t", quoting=csv.QUOTE_NONE)}
predictions = list(csv.DictReader(open(f"{run}/best.csv")))
assert [row["id"] for row in predictions] == list(rows), "not each row once, in order"


def f1(counts):
    tp, fp, fn = counts
    return 200 * tp / (2 * tp + fp + fn) if tp else 0.0


loss, right = 0.0, 0
counts = {True: [0, 0, 0], False: [0, 0, 0]}  # masculine or not: true positives, false positives, false negatives
for row in predictions:
    truth = rows[row["id"]]
    label = "A" if truth["A-coref"] == "TRUE" else "B" if truth["B-coref"] == "TRUE" else "NEITHER"
    assert row["label"] == label, row
    loss -= math.log(max(float(row["p_" + label]), 1e-15)) / len(predictions)
    right += row["prediction"] == label
    for name in "A", "B":
        said, true = row["prediction"] == name, label == name
        kind = 0 if said and true else 1 if said else 2 if true else None
        if kind is not None:
            counts[truth["Pronoun"].lower() in MASCULINE][kind] += 1
masculine, feminine = f1(counts[True]), f1(counts[False])
overall = f1([sum(pair) for pair in zip(*counts.values())])

kaggle = list(csv.DictReader(open(f"{run}/kaggle.csv")))
assert [row["ID"] for row in kaggle] == list(rows), "kaggle.csv has not each row once, in order"
assert list(kaggle[0]) == ["ID", "A", "B", "NEITHER"], list(kaggle[0])
assert all(abs(sum(float(row[name]) for name in ("A", "B", "NEITHER")) - 1) < 1e-6 for row in kaggle)

printed = open(f"{run}.log").read().rpartition("test: log loss ")[2]
shown = [float(number) for number in re.findall(r"(?:^|accuracy |f1: |(?<=\(F/M\): ))(\d+\.\d+)", printed)]
computed = [loss, right / len(predictions), overall, masculine, feminine, feminine / masculine]
digits = [1e-4, 1e-4, 0.06, 0.06, 0.06, 0.006]  # printed ones, and those of best.csv
assert all(abs(a - b) < c for a, b, c in zip(shown, computed, digits, strict=True)), (shown, computed)

dev = [line["log_loss"] for line in map(json.loads, open(f"{run}/metrics.jsonl")) if line.get("split") == "dev"]
print(f"{head:8} {'  '.join(f'{value:.3f}' for value in dev):>24} {dev.index(min(dev)) + 1:6} {loss:10.4f} "
      f"{right / len(predictions):9.4f} {overall:6.1f} {masculine:9.1f} {feminine:9.1f} {feminine / masculine:6.2f}")
