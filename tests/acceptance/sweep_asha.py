#!/usr/bin/env python3
"""Compares random search that trains every trial to its end with the same search under ASHA and under median stopping:
the training steps of all trials, and the best accuracy on dev. Each trial puts a new head on one of two small models
that know the language of SST-2 already, and trains on 3,000 rows. Prints a table, and fails if ASHA needs more than
40 % of the steps or does not reach the accuracy.

sweep_asha.py BIN DATA WORK [--seeds N]"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

TRIALS, SLOTS = 20, 10
STEPS, EVERY = 360, 45  # of each trial, and between its evaluations
TRAIN_ROWS, DEV_ROWS = 3000, 436  # evaluations on all 872 rows of dev would take longer than the training
RULES = {
    "none": "",
    "asha": "stop: {rule: asha, min: 1, factor: 3}\n",
    "median": "stop: {rule: median, min: 1}\n",
}
MOST_STEPS = 0.40  # of ASHA, as a share of those of the full search
LIMIT = 900  # seconds for any command


def run(words, log):
    with open(log, "w") as output:
        code = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                              timeout=LIMIT, check=False).returncode
    if code != 0:
        raise SystemExit(f"FAIL {words[0]} {words[1]} ended with {code}; the end of {log}:\n{log.read_text()[-800:]}")


def make_models(arguments):
    """Makes the files of rows. Trains two models to predict the label as a number, on rows that the trials do not get,
    and returns their folders."""
    rows = (arguments.data / "sst2" / "sentiment-train").read_text().splitlines(keepends=True)
    (arguments.work / "train.tsv").write_text("".join(rows[:TRAIN_ROWS]))
    dev = (arguments.data / "sst2" / "sentiment-dev").read_text().splitlines(keepends=True)
    (arguments.work / "dev.tsv").write_text("".join(dev[:DEV_ROWS]))
    models = []
    for name, last in (("more", 30000), ("less", 16000)):
        (arguments.work / f"{name}.tsv").write_text("".join(rows[10000:last]))
        run([arguments.bin / "bprun", "-n", "2", arguments.bin / "bert_train", arguments.work / f"{name}.tsv", "--task",
             "regress", "--text", "1", "--target", "2", "--vocab",
             arguments.data / "bert-base-uncased" / "vocab.txt", "--model", "tiny", "--epochs", "1", "--batch", "16",
             "--lr", "1e-3", "--store", arguments.work / f"{name}.sqlite", "--run", arguments.work / name],
            arguments.work / f"{name}.log")
        models.append(arguments.work / name / "model")
    return models


def training(arguments):
    return [arguments.work / "train.tsv", "--dev", arguments.work / "dev.tsv", "--text", "1", "--label", "2",
            "--store", arguments.work / "train.sqlite"]


def steps_of(folder):
    """Returns the last step that each trial has logged."""
    steps = []
    for path in folder.glob("trials/*/run/metrics.jsonl"):
        steps.append(max(int(step) for step in re.findall(r'^\{"step":(\d+),', path.read_text(), re.MULTILINE)))
    return steps


def search(arguments, models, rule, seed):
    """Returns (steps of all trials, best accuracy, seconds) of one search."""
    folder = arguments.work / f"{rule}-{seed}"
    space = folder.with_suffix(".yaml")
    space.write_text(f"sampler: random\ntrials: {TRIALS}\nseed: {seed}\n{RULES[rule]}parameters:\n"
                     f"  lr: {{loguniform: [1e-5, 1e-4]}}\n  batch: [4, 8, 16]\n"
                     f"  model: {json.dumps([str(model) for model in models])}\n")
    begin = time.monotonic()
    run([arguments.bin / "bprun", "sweep", space, "--folder", folder, "-q", "-n", SLOTS, "--",
         arguments.bin / "bert_train", *training(arguments), "--steps", STEPS, "--eval-every", EVERY, "--warmup",
         "0.02", "--seed", seed, "--keep", "1"], folder.with_suffix(".log"))
    seconds = time.monotonic() - begin
    status = json.loads(subprocess.run([arguments.bin / "bprun", "sweep", "status", "--json", folder], check=True,
                                       capture_output=True, text=True).stdout)
    steps = steps_of(folder)
    if len(steps) != TRIALS:
        raise SystemExit(f"FAIL {len(steps)} of {TRIALS} trials have trained; see {folder}.log")
    return sum(steps), status["best"][0]["result"], seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    for name in ("bin", "data", "work"):
        setattr(arguments, name, getattr(arguments, name).absolute())
    os.environ.pop("OMP_NUM_THREADS", None)  # bprun sweep divides the cores
    models = make_models(arguments)
    run([arguments.bin / "bert_train", "prep", *training(arguments), "--vocab",
         arguments.data / "bert-base-uncased" / "vocab.txt"], arguments.work / "prep.log")

    found = {rule: [] for rule in RULES}
    for seed in range(1, arguments.seeds + 1):
        for rule in RULES:
            found[rule].append(search(arguments, models, rule, seed))
            steps, best, seconds = found[rule][-1]
            print(f"seed {seed}, {rule}: {steps} steps, accuracy {best:.4f}, {seconds:.0f} s", file=sys.stderr,
                  flush=True)

    print(f"| stop | training steps (median of {arguments.seeds} seeds) | of the full search | best dev accuracy |")
    print("|---|---:|---:|---:|")
    median = {rule: [statistics.median(column) for column in zip(*results)] for rule, results in found.items()}
    for rule, (steps, best, _) in median.items():
        print(f"| {rule if rule != 'none' else 'none: every trial trains to its end'} | {steps:,.0f} | "
              f"{100 * steps / median['none'][0]:.0f} % | {best:.4f} |")
    share = median["asha"][0] / median["none"][0]
    good = share <= MOST_STEPS and median["asha"][1] >= median["none"][1]
    print(f"asha takes {100 * share:.0f} % of the steps (at most {100 * MOST_STEPS:.0f} %) to an accuracy of "
          f"{median['asha'][1]:.4f} (at least {median['none'][1]:.4f})")
    sys.exit(not good)


if __name__ == "__main__":
    main()
