#!/usr/bin/env python3
"""Checks what the ranks of a finished run did, by the folder that they wrote with --trace: in every epoch, all
ranks together used each sample of the store's train split exactly once, and after every step all ranks held the
same parameters. The run may have been resumed with another number of ranks. No step lies in two epochs. Prints one
line, or exits with 1 and the first violation.

  check_trace.py TRACE STORE EPOCHS"""

import json
import pathlib
import sqlite3
import sys
from collections import Counter, defaultdict


def read(folder):
    """Returns the lines of all ranks, by step."""
    steps = defaultdict(list)
    for path in sorted(folder.glob("rank-*.jsonl")):
        with path.open() as lines:
            for line in map(json.loads, lines):
                steps[line["step"]].append(line)
    return steps


def main():
    folder, store, epochs = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    steps = read(folder)
    with sqlite3.connect(store) as database:
        expected = {row[0] for row in database.execute("SELECT sample_id FROM train_samples")}
    if not steps or sorted(steps) != list(range(1, len(steps) + 1)):
        sys.exit(f"the {len(steps)} steps do not run from 1 to {len(steps)} without a gap")
    worlds, used, epoch = [], Counter(), 0
    for step in range(1, len(steps) + 1):
        lines = steps[step]
        if len({line["parameters"] for line in lines}) != 1:
            sys.exit(f"after step {step} the ranks hold different parameters")
        if not worlds or worlds[-1] != len(lines):
            worlds.append(len(lines))
        for line in lines:
            for micro_batch in line["samples"]:
                used.update(micro_batch)
        if used.total() < len(expected):
            continue
        epoch += 1
        if used.keys() != expected or set(used.values()) != {1}:
            missing, more = len(expected - used.keys()), sum(n > 1 for n in used.values())
            sys.exit(f"epoch {epoch}: {missing} samples unused, {more} used more than once")
        used.clear()
    if epoch != epochs or used:
        sys.exit(f"{len(steps)} steps are {epoch} epochs and {used.total()} samples, not {epochs} epochs")
    print(f"{len(expected):,} samples used exactly once in each of {epochs} epochs by "
          f"{', then '.join(map(str, worlds))} ranks; parameters equal on all ranks after each of "
          f"{len(steps)} steps")


if __name__ == "__main__":
    main()
