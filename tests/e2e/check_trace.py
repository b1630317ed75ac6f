#!/usr/bin/env python3
"""Checks what the ranks of a finished run really did, by the --trace FOLDER that they wrote: in every
epoch each sample of the store's train split was used exactly once over all ranks, and after every step
all ranks held the same parameters. Prints one line; exits 1 with the first thing that is not so.

  check_trace.py TRACE STORE EPOCHS"""

import json
import pathlib
import sqlite3
import sys
from collections import Counter


def read(path):
    with path.open() as lines:
        return [json.loads(line) for line in lines]


def main():
    folder, store, epochs = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    ranks = [read(path) for path in sorted(folder.glob("rank-*.jsonl"))]
    with sqlite3.connect(store) as database:
        expected = {row[0] for row in database.execute("SELECT sample_id FROM train_samples")}
    steps = len(ranks[0])
    if steps == 0 or steps % epochs or any(len(rank) != steps for rank in ranks):
        sys.exit(f"{[len(rank) for rank in ranks]} steps are not {epochs} epochs")
    for step, lines in enumerate(zip(*ranks)):
        if len({line["parameters"] for line in lines}) != 1:
            sys.exit(f"after step {step + 1} the ranks hold different parameters")
    for epoch in range(epochs):
        used = Counter()
        for rank in ranks:
            for line in rank[epoch * steps // epochs:(epoch + 1) * steps // epochs]:
                for micro_batch in line["samples"]:
                    used.update(micro_batch)
        if used.keys() != expected or set(used.values()) != {1}:
            missing, more = len(expected - used.keys()), sum(n > 1 for n in used.values())
            sys.exit(f"epoch {epoch + 1}: {missing} samples unused, {more} used more than once")
    print(f"{len(expected):,} samples used exactly once in each of {epochs} epochs by {len(ranks)} ranks; "
          f"parameters equal on all ranks after each of {steps} steps")


if __name__ == "__main__":
    main()
