"""bp's maker of pre-training shards against the loop of create_pretraining_data.py in Python (pretraining_loop.py), on
the texts of GAP, each a document, as often as --repeat says: instances a second from the start of the process to its
end, and highest resident memory. Both shuffle all instances and write the six data sets of NVIDIA's shards. Both shards
are read with h5py and compared: lengths, masks and labels must have the same means. Of ours, 2000 instances are sought
in the text. Exit code 1 when the target is missed or the shards are wrong.

GAP is looked for in $BP_TEST_DATA, or --data."""

import argparse
import csv
import json
import os
import pathlib
import re
import sys
import tempfile
import time

import h5py
import numpy
from measuring import HERE, PEAK, ROOT, end_unmeasured, print_machine, run
from tokenizers import BertWordPieceTokenizer

SENTENCE_END = re.compile(r"(?<=[.!?]) +(?=[A-Z\"'])")
SOUGHT = 2000
MASK = 103


def write_text(path, gap, repeat):
    documents = []
    for part in ("development", "test", "validation"):
        with open(gap / f"gap-{part}.tsv", encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            documents += ["\n".join(SENTENCE_END.split(row["Text"])) for row in rows]
    path.write_text("\n\n".join(documents * repeat) + "\n", encoding="utf-8")
    return documents


def measure(command, folder):
    """(seconds, peak MB, standard output)"""
    begin = time.monotonic()
    printed = run([sys.executable, "-c", PEAK, folder / "peak", *command])
    return time.monotonic() - begin, int((folder / "peak0").read_text()) * 1024 / 1e6, printed


def read(paths):
    parts = []
    for path in paths:
        with h5py.File(path) as file:
            parts.append({name: file[name][:] for name in file})
    return {name: numpy.concatenate([part[name] for part in parts]) for name in parts[0]}


def means(shard):
    """The means that both shards must share, and how far they may differ."""
    lengths, masked = shard["input_mask"].sum(1), shard["masked_lm_positions"] > 0
    at = shard["masked_lm_positions"]
    hidden = numpy.take_along_axis(shard["input_ids"], at, 1)[masked]
    true = shard["masked_lm_ids"][masked]
    return {
        "tokens an instance": (lengths.mean(), 0.01 * lengths.mean()),
        "full instances, %": (100 * (lengths == shard["input_ids"].shape[1]).mean(), 1),
        "tokens of type 1": (shard["segment_ids"].sum(1).mean(), 0.02 * shard["segment_ids"].sum(1).mean()),
        "random next, %": (100 * shard["next_sentence_labels"].mean(), 1),
        "masked an instance": (masked.sum(1).mean(), 0.01 * masked.sum(1).mean()),
        "of them [MASK], %": (100 * (hidden == MASK).mean(), 0.3),
        "of them unchanged, %": (100 * (hidden == true).mean(), 0.3),
        "mean position": (at[masked].mean(), 0.01 * at[masked].mean()),
    }


def compare_means(ours, theirs):
    same = True
    for (name, (mine, bound)), (other, _) in zip(means(ours).items(), means(theirs).values()):
        fits = abs(mine - other) <= bound
        same &= fits
        print(f"    {name:22} {mine:9.3f} {other:9.3f}{'' if fits else '  DIFFERENT'}")
    count, other = len(ours["input_ids"]), len(theirs["input_ids"])
    print(f"    {'instances':22} {count:9,} {other:9,}")
    return same and abs(count - other) <= 0.01 * other


def occurrences(text, part):
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def is_of_text(shard, row, text):
    """Whether the segments are in the text, each in one document, and the second behind the first if it follows."""
    ids = shard["input_ids"][row].copy()
    masked = shard["masked_lm_positions"][row] > 0
    ids[shard["masked_lm_positions"][row][masked]] = shard["masked_lm_ids"][row][masked]
    length, second = shard["input_mask"][row].sum(), shard["segment_ids"][row].sum()
    first = "".join(map(chr, ids[1:length - second - 1]))
    next_one = "".join(map(chr, ids[length - second:length - 1]))
    if shard["next_sentence_labels"][row]:
        return first in text and next_one in text
    for at in occurrences(text, first):
        end = at + len(first)
        if next_one in text[end:text.index("\0", end)]:
            return True
    return False


def check_instances(shard, documents, vocabulary):
    tokenizer = BertWordPieceTokenizer(str(vocabulary), lowercase=True)
    encoded = tokenizer.encode_batch([document.replace("\n", " ") for document in documents], add_special_tokens=False)
    text = "".join("".join(map(chr, one.ids)) + "\0" for one in encoded)
    rows = numpy.linspace(0, len(shard["input_ids"]) - 1, SOUGHT).astype(int)
    found = sum(is_of_text(shard, row, text) for row in rows)
    print(f"  {found:,} of {SOUGHT:,} instances of ours are in the text")
    return found == SOUGHT


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("BP_TEST_DATA", ""))
    parser.add_argument("--repeat", type=int, default=4, help="the texts of GAP")
    parser.add_argument("--copies", type=int, default=10, help="of each document")
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--most", type=int, default=20, help="masked tokens of an instance")
    parser.add_argument("--target", type=float, default=20, help="times the Python loop's speed")
    options = parser.parse_args()
    gap, vocabulary = (pathlib.Path(options.data) / name for name in ("gap", "bert-base-uncased/vocab.txt"))
    if not options.data or not gap.is_dir():
        end_unmeasured("set BP_TEST_DATA to a folder with gap/ and bert-base-uncased/")
    maker = ROOT / "build/bin/pretraining_shards"
    if not maker.exists():
        end_unmeasured(f"{maker} is not there: cmake --build build --target pretraining_shards")
    print_machine()
    with tempfile.TemporaryDirectory(prefix="bp_pretraining_") as name:
        folder = pathlib.Path(name)
        text = folder / "text"
        documents = write_text(text, gap, options.repeat)
        print(f"\n{len(documents) * options.repeat:,} documents, {text.stat().st_size / 1e6:.1f} MB", flush=True)
        more = (options.length, options.most, options.copies)
        seconds, memory, printed = measure([maker, text, vocabulary, folder / "ours", *more], folder)
        counts = json.loads(printed)
        loop = [sys.executable, HERE / "pretraining_loop.py", text, vocabulary, folder / "theirs.hdf5", *more]
        their_seconds, their_memory, _ = measure(loop, folder)
        ours, theirs = read(sorted(folder.glob("ours_*.hdf5"))), read([folder / "theirs.hdf5"])
        rate, their_rate = (len(shard["input_ids"]) / took for shard, took in ((ours, seconds), (theirs, their_seconds)))
        print(f"  bp      {rate:10,.0f} instances/s, {seconds:6.1f} s, {memory:6,.0f} MB")
        print(f"  Python  {their_rate:10,.0f} instances/s, {their_seconds:6.1f} s, {their_memory:6,.0f} MB")
        assert counts["instances"] == len(ours["input_ids"]), counts
        same = compare_means(ours, theirs)
        same &= check_instances(ours, documents, vocabulary)
    passed = same and rate >= options.target * their_rate
    print(f"{'PASS' if passed else 'FAIL'}: {rate / their_rate:.1f} times Python's instances/s "
          f"({options.target:g} or more), {'the same shards but for chance' if same else 'OTHER SHARDS'}")
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
