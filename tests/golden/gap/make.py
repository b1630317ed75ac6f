#!/usr/bin/env python3
"""Writes golden.jsonl: random rows of GAP, answers to them, and what GAP's own scorer says of these.

    git clone https://github.com/google-research-datasets/gap-coreference
    python3 tests/golden/gap/make.py gap-coreference

The scorer is for Python 2; two of its calls are replaced. Each line is a case: `labels` (0 neither, 1 A, 2 B) and
`genders` (m, f) with a character a row, `probabilities` of neither, A and B in thousandths, `scorecard`, and the log loss as
Kaggle's competition defines it.
"""
import json
import math
import pathlib
import random
import sys
import tempfile

CASES = 80
PRONOUNS = {"m": ["he", "He", "him", "his"], "f": ["she", "her", "Her", "hers"]}


def load_scorer(folder):
    sys.path.insert(0, str(folder))
    code = (folder / "gap_scorer.py").read_text()
    for old, new in (("'rU'", "'r'"), (".iteritems()", ".items()")):
        assert old in code
        code = code.replace(old, new)
    scope = {"__name__": "gap_scorer"}
    exec(compile(code, "gap_scorer.py", "exec"), scope)
    return scope["run_scorer"]


def probabilities(rng):
    cuts = sorted(rng.randrange(1001) for _ in range(2))
    return rng.choice([[cuts[0], cuts[1] - cuts[0], 1000 - cuts[1]], [0, 1000, 0], [0, 0, 1000], [500, 500, 0], [0, 500, 500]])


def truth(number, name):
    return "TRUE" if number == name else "FALSE"


def case(rng, run_scorer):
    rows = rng.randrange(1, 60)
    labels = rng.choices(range(3), rng.choice([(1, 4, 4), (1, 0, 0), (0, 1, 1)]), k=rows)
    genders = rng.choices("mf", rng.choice([(1, 1), (1, 1), (1, 0), (0, 1)]), k=rows)
    answers = [probabilities(rng) for _ in range(rows)]
    gold, system = ["ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL"], []
    for i, (label, gender, answer) in enumerate(zip(labels, genders, answers)):
        best = answer.index(max(answer))
        gold.append(f"x-{i}\t.\t{rng.choice(PRONOUNS[gender])}\t0\tA\t0\t{truth(label, 1)}\tB\t0\t{truth(label, 2)}\t.")
        system.append(f"x-{i}\t{truth(best, 1)}\t{truth(best, 2)}")
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder) / name for name in ("gold.tsv", "system.tsv")]
        for file, lines in zip(files, (gold, system)):
            file.write_text("\n".join(lines) + "\n")
        scorecard = run_scorer(*map(str, files))
    bounded = [min(max(answer[label] / 1000, 1e-15), 1 - 1e-15) for label, answer in zip(labels, answers)]
    return {"labels": "".join(map(str, labels)), "genders": "".join(genders), "probabilities": answers, "scorecard": scorecard,
            "log_loss": -math.fsum(map(math.log, bounded)) / rows}


run_scorer = load_scorer(pathlib.Path(sys.argv[1]))
rng = random.Random(1)
lines = [json.dumps(case(rng, run_scorer), separators=(",", ":")) for _ in range(CASES)]
(pathlib.Path(__file__).parent / "golden.jsonl").write_text("\n".join(lines) + "\n")
