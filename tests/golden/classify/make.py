#!/usr/bin/env python3
"""Writes golden.jsonl: labels, probabilities, and their scores by scikit-learn.

    python3 -m venv V && V/bin/pip install scikit-learn==1.9.1 numpy==2.4.6
    V/bin/python tests/golden/classify/make.py

The probabilities are floats. Cases have from 2 to 10 classes, many equal rows, classes that no row has, and answers
that are all right or all wrong. scikit-learn has no expected calibration error; `ece` is its definition (Guo et al.
2017, 15 bins of equal width) in exact fractions. roc_auc is null where only one class occurs; for more than two classes
it is the mean over those that occur. `macro` has scikit-learn's default, the mean over the classes that occur or are
predicted, and `macro_of_all` the mean over all of them.
"""
import fractions
import json
import pathlib
import warnings

import numpy as np
from sklearn.metrics import (brier_score_loss, cohen_kappa_score, f1_score, precision_recall_fscore_support, roc_auc_score,
                             top_k_accuracy_score)

CASES = 60
BINS = 15


def auc(labels, shares):
    classes = shares.shape[1]
    if classes == 2:
        return roc_auc_score(labels, shares[:, 1]) if len(set(labels)) == 2 else None
    own = [roc_auc_score(labels == k, shares[:, k]) for k in range(classes) if 0 < (labels == k).sum() < len(labels)]
    if len(own) == classes:  # scikit-learn's own mean is defined
        assert abs(roc_auc_score(labels, shares, multi_class="ovr", labels=range(classes)) - np.mean(own)) < 1e-12
    return float(np.mean(own)) if own else None


def ece(labels, shares):
    exact = fractions.Fraction
    sums = {}
    for label, row in zip(labels, shares):
        confidence = float(row.max())
        place = min(max(int(np.ceil(confidence * BINS)) - 1, 0), BINS - 1)
        sums[place] = sums.get(place, 0) + exact(confidence) - int(row.argmax() == label)
    return float(sum(abs(value) for value in sums.values()) / len(labels))


def case(rng):
    classes = int(rng.choice([2, 2, 3, 4, 6, 10]))
    count = int(rng.choice([1, 4, 12, 30]))
    logits = rng.standard_normal((count, classes)) * rng.choice([0.3, 2, 8])
    logits = logits[rng.integers(0, count, count)] if rng.random() < 0.5 else logits  # equal rows
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    shares = shares.astype(np.float32).astype(np.float64)
    labels = rng.integers(0, classes, count)
    if rng.random() < 0.4:
        labels = np.where(rng.random(count) < 0.8, shares.argmax(axis=1), labels)
    guesses = shares.argmax(axis=1)
    tops = {k: top_k_accuracy_score(labels, shares if classes > 2 else shares[:, 1], k=k, labels=range(classes))
            for k in (2, 3, 5) if k < classes}
    brier = brier_score_loss(labels, shares, labels=range(classes))
    by_hand = np.mean(((shares - np.eye(classes)[labels]) ** 2).sum(axis=1)) / (2 if classes == 2 else 1)
    assert abs(brier - by_hand) < 1e-12, (brier, by_hand)
    kappa = cohen_kappa_score(labels, guesses)

    def macro(**of):  # precision, recall and F1
        return list(precision_recall_fscore_support(labels, guesses, average="macro", zero_division=0, **of)[:3])

    return {"classes": classes, "labels": labels.tolist(), "shares": shares.ravel().tolist(), "top": list(tops.values()),
            "roc_auc": auc(labels, shares), "brier": brier, "ece": ece(labels, shares),
            "kappa": 0 if np.isnan(kappa) else kappa,
            "macro": macro(), "macro_of_all": macro(labels=range(classes)),
            "f1_weighted": f1_score(labels, guesses, labels=range(classes), average="weighted", zero_division=0)}


warnings.simplefilter("ignore")
rng = np.random.default_rng(1)
lines = [json.dumps(case(rng), separators=(",", ":")) for _ in range(CASES)]
(pathlib.Path(__file__).parent / "golden.jsonl").write_text("\n".join(lines) + "\n")
