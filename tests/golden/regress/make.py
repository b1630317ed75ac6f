#!/usr/bin/env python3
"""Writes golden.jsonl: targets, predictions, and their scores by scikit-learn and SciPy.

    python3 -m venv V && V/bin/pip install scikit-learn==1.9.1 scipy==1.17.1 numpy==2.4.6
    V/bin/python tests/golden/regress/make.py

A case has ties in neither, one or both sides, and often means that are large beside the deviations. The correlations of
constant sides are null. SciPy's Pearson correlation loses digits there, so the script checks it with exact fractions.
"""
import fractions
import json
import math
import pathlib
import warnings

import numpy as np
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import mean_absolute_error, mean_squared_error

CASES = 120


def side(rng, count):
    scale, mean = 10.0 ** rng.integers(-6, 7), rng.choice([0, 1, 1e3, 1e6, -1e6])
    values = rng.standard_normal(count)
    if rng.random() < 0.4:
        values = np.round(values * rng.integers(1, 4))
    if rng.random() < 0.06:
        values[:] = values[0]
    return (values + mean) * scale


def exact_pearson(x, y):
    x, y = ([fractions.Fraction(float(v)) for v in values] for values in (x, y))
    centred = [[v - sum(values) / len(values) for v in values] for values in (x, y)]
    sums = [sum(a * b for a, b in zip(*pair)) for pair in
            (centred, (centred[0], centred[0]), (centred[1], centred[1]))]
    return math.copysign(math.sqrt(sums[0] ** 2 / (sums[1] * sums[2])), sums[0]) if sums[1] and sums[2] else None


def case(rng):
    count = int(rng.choice([2, 3, 10, 60]))
    x, y = side(rng, count), side(rng, count)
    if rng.random() < 0.5:
        y = x * rng.choice([-1, 2]) + np.abs(x - x.mean()).max() * rng.standard_normal(count) * rng.choice([0, 0.1, 1])
    pearson = exact_pearson(x, y)
    if pearson is not None:
        assert abs(pearsonr(x, y).statistic - pearson) < 1e-9, (pearsonr(x, y), pearson)
    rank = spearmanr(x, y).statistic
    return {"targets": x.tolist(), "predictions": y.tolist(), "mse": mean_squared_error(x, y), "mae": mean_absolute_error(x, y),
            "pearson": pearson, "spearman": None if pearson is None else float(rank)}


warnings.simplefilter("ignore")
rng = np.random.default_rng(1)
lines = [json.dumps(case(rng), separators=(",", ":")) for _ in range(CASES)]
(pathlib.Path(__file__).parent / "golden.jsonl").write_text("\n".join(lines) + "\n")
