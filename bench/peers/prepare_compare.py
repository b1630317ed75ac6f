"""bert_train prep against csv, tokenizers and sqlite3 in Python (prepare_loop.py) on one large CSV file, whose rows come
from SST-2: rows a second from the start of the process to its end, highest resident memory, and the token ids and
labels of all rows, which must be the same. Both sync their store. Exit code 1 when a target is missed or the ids differ.

SST-2 is looked for in $BP_TEST_DATA, or --data. The file is made anew for each comparison: SST-2's train rows as often
as needed; nine of ten repeated rows get another word at the end, so one in ten repeats a text of another row."""

import argparse
import csv
import heapq
import os
import pathlib
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time

from measuring import HERE, PEAK, end_unmeasured, print_machine, program, run, spread

CHANGED_OF = 10  # every tenth repeated row keeps its text


def write_table(path, sst2, rows):
    with open(sst2 / "sentiment-train", encoding="utf-8") as file:
        originals = [line.rstrip("\n").split("\t") for line in file if line.strip()]
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("text", "label"))
        for number in range(rows):
            text, label = originals[number % len(originals)]
            time_again = number // len(originals)
            if time_again and number % CHANGED_OF:
                word = originals[number * 7919 % len(originals)][0].split(" ")[0]
                text = f"{text}{word}{time_again} "
            table.writerow((text, label))


def measure(command, folder):
    """(seconds, peak MB)"""
    peak = folder / "peak"
    begin = time.monotonic()
    run([sys.executable, "-c", PEAK, peak, *command])
    return time.monotonic() - begin, int((folder / "peak0").read_text()) * 1024 / 1e6


def our_rows(store):
    """(row, label's name, ids as bytes) of each row, in order. No text may be folded."""
    database = sqlite3.connect(store)
    names = [name for name, in database.execute("SELECT name FROM names ORDER BY number")]
    splits = (database.execute(f"SELECT text_id, label, tokens FROM {split}_samples ORDER BY position")
              for split in ("train", "dev", "test"))
    return ((row, names[label], tokens) for row, label, tokens in heapq.merge(*splits))


def same_rows(ours, theirs, rows):
    """Whether both stores hold the same ids and labels in each of the rows."""
    theirs = sqlite3.connect(theirs).execute("SELECT row, label, tokens FROM samples ORDER BY row")
    equal = 0
    for mine, other in zip(our_rows(ours), theirs):
        if mine != other:
            print(f"  row {other[0]}: ours {mine}, the other {other}")
            return False
        equal += 1
    print(f"  {equal:,} of {rows:,} rows have the same ids and the same label")
    return equal == rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("BP_TEST_DATA", ""))
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the file; 18,500,000 make 1.2 GB")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--peer-runs", type=int, default=1, help="of the Python loop; 0: compare nothing")
    parser.add_argument("--target", type=float, default=300_000, help="rows a second that bert_train must reach")
    parser.add_argument("--memory", type=float, default=300, help="MB that bert_train may take at most")
    parser.add_argument("--folder", help="for the files, instead of the system's for temporary ones")
    options = parser.parse_args()
    sst2, vocabulary = (pathlib.Path(options.data) / name for name in ("sst2", "bert-base-uncased/vocab.txt"))
    if not options.data or not sst2.is_dir():
        end_unmeasured("set BP_TEST_DATA to a folder with sst2/ and bert-base-uncased/")
    print_machine()
    with tempfile.TemporaryDirectory(prefix="bp_prepare_", dir=options.folder) as name:
        folder = pathlib.Path(name)
        table = folder / "table.csv"
        needed = (1000 if options.peer_runs else 250) * options.rows  # the table, and one or both stores
        if shutil.disk_usage(folder).free < needed:
            end_unmeasured(f"{folder} has no room for {needed / 1e9:.1f} GB")
        write_table(table, sst2, options.rows)
        print(f"\n{options.rows:,} rows, {table.stat().st_size / 1e6:,.0f} MB", flush=True)
        prepare = [program("bert_train"), "prep", table, "--vocab", vocabulary, "--max-length", 512,
                   "--store", folder / "ours.sqlite", "--rebuild"]
        loop = [sys.executable, HERE / "prepare_loop.py", table, vocabulary, folder / "theirs.sqlite"]
        figures = {"bert_train": [], "Python": []}
        for turn in range(max(options.runs, options.peer_runs)):
            if turn < options.runs:
                figures["bert_train"].append(measure(prepare, folder))
            if turn < options.peer_runs:
                (folder / "theirs.sqlite").unlink(missing_ok=True)
                figures["Python"].append(measure(loop, folder))
        rates = {side: [options.rows / seconds for seconds, _ in runs] for side, runs in figures.items()}
        for side, runs in figures.items():
            if runs:
                print(f"  {side:10} {spread(rates[side], 0)} rows/s, at most {max(mb for _, mb in runs):,.0f} MB")
        same = not options.peer_runs or same_rows(folder / "ours.sqlite", folder / "theirs.sqlite", options.rows)
    rate, memory = statistics.median(rates["bert_train"]), max(mb for _, mb in figures["bert_train"])
    passed = same and rate >= options.target and memory <= options.memory
    ratio = f", {rate / statistics.median(rates['Python']):.1f} times Python's" if options.peer_runs else ""
    print(f"{'PASS' if passed else 'FAIL'}: {rate:,.0f} rows/s ({options.target:,.0f} or more){ratio}, "
          f"{memory:,.0f} MB ({options.memory:,.0f} or less), "
          f"{'ids not compared' if not options.peer_runs else 'the same ids' if same else 'OTHER IDS'}")
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
