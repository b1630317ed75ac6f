"""bert_train and torch_loop.py fine-tune a model of MiniLM-L6's shape on SST-2's texts, bf16, batch 32,
max length 128: peak resident memory of a rank, seconds from the start of the process to the end of the
first step (store prepared, files in the cache), and for bert_train, which saves every 20 steps from
MiniLM's weights on, how long a checkpoint stops training. Before that, both compute the same losses
(same_losses.py). Exit code 1 when they do not, or when a median is above its limit (memory and stop: the highest)."""

import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
from tokenizers import BertWordPieceTokenizer

from measuring import HERE, PEAK, ROOT, end_unmeasured, print_machine, program, run, spread
from same_losses import require_same_losses

LIMITS = {"memory": 1.2, "first step": 2.0, "stop": 150.0}  # GB a rank, s, ms
BATCH, LENGTH = 32, 128
FIRST_STEP = '"step":1,'


def measure(command, folder, first_step, **environment):
    """Runs it: (peak GB of the hungriest rank, seconds until first_step() held)."""
    for old in folder.glob("peak*"):
        old.unlink()
    with open(folder / "log", "w") as log:
        begin = time.monotonic()
        process = subprocess.Popen([str(part) for part in command], stdout=log, stderr=log,
                                   env=dict(os.environ, **environment))
        first = None
        while process.poll() is None:
            if first is None and first_step():
                first = time.monotonic() - begin
            time.sleep(0.005 if first is None else 0.2)
    if process.returncode or first is None:
        sys.exit(f"{' '.join(map(str, command))}\nended with {process.returncode}:\n"
                 + (folder / "log").read_text()[-2000:])
    return max(int(peak.read_text()) for peak in folder.glob("peak*")) * 1024 / 1e9, first


def ours(folder, data, model, ranks, steps):
    """(GB, s, [ms of each stop])"""
    target = folder / "run"
    shutil.rmtree(target, ignore_errors=True)
    metrics = target / "metrics.jsonl"
    train = [sys.executable, "-c", PEAK, folder / "peak", program("bert_train"), *data, "--model", model,
             "--batch", BATCH, "--precision", "bf16", "--steps", steps, "--save-every", 20,
             "--eval-every", 10**9, "--run", target]
    if ranks > 1:
        train = [program("bprun"), "-n", ranks, *train]
    memory, first = measure(train, folder, lambda: metrics.exists() and FIRST_STEP in metrics.read_text(),
                            BP_LOG="debug")
    stops = re.findall(r"training stopped for ([0-9.]+) ms", (folder / "log").read_text())
    return memory, first, [float(stop) for stop in stops]


def theirs(folder, model, steps):
    loop = [sys.executable, "-c", PEAK, folder / "peak", sys.executable, HERE / "torch_loop.py",
            "--ids", folder / "ids.npz", "--model", model, "--batch", BATCH, "--trim",
            "--warm-up-steps", 1, "--windows", 1, "--window-steps", steps - 1]
    return measure(loop, folder, lambda: "first step" in (folder / "log").read_text())


def write_ids(folder, sst2, vocabulary):
    """SST-2's train split for torch_loop.py."""
    tokenizer = BertWordPieceTokenizer(str(vocabulary))
    tokenizer.enable_truncation(LENGTH)
    tokenizer.enable_padding(length=LENGTH)
    rows = [line.rsplit("\t", 1) for line in (sst2 / "sentiment-train").read_text().splitlines()]
    ids = numpy.array([encoding.ids for encoding in tokenizer.encode_batch([row[0] for row in rows])])
    numpy.savez(folder / "ids.npz", ids=ids, labels=numpy.array([int(row[1]) for row in rows]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=45, help="of a run; every 20th saves")
    parser.add_argument("--model", type=pathlib.Path, default=ROOT / ".deps" / "minilm")
    options = parser.parse_args()
    if "BP_TEST_DATA" not in os.environ:
        end_unmeasured("BP_TEST_DATA does not point at the data")
    sst2 = pathlib.Path(os.environ["BP_TEST_DATA"]) / "sst2"

    print_machine()
    with tempfile.TemporaryDirectory(prefix="bp_footprint_") as name:
        folder = pathlib.Path(name)
        write_ids(folder, sst2, options.model / "vocab.txt")
        data = [sst2 / "sentiment-train", "--dev", sst2 / "sentiment-dev", "--test", sst2 / "sentiment-test",
                "--text", 1, "--label", 2, "--vocab", options.model / "vocab.txt", "--max-length", LENGTH,
                "--store", folder / "store.sqlite"]
        run([program("bert_train"), "prep", *data])
        require_same_losses(folder, options.model, data, {"--batch": BATCH, "--precision": "bf16", "--lr": "5e-5"},
                            [("sdpa", "merged")], ["--trim"])
        figures = {(side, what): [] for side in ("1 rank", "2 ranks", "PyTorch") for what in LIMITS}
        for turn in range(options.runs):
            for ranks in (1, 2):
                side = f"{ranks} rank{'s' * (ranks > 1)}"
                memory, first, stops = ours(folder, data, options.model, ranks, options.steps)
                figures[side, "memory"].append(memory)
                figures[side, "first step"].append(first)
                figures[side, "stop"] += stops
            memory, first = theirs(folder, options.model, options.steps)
            figures["PyTorch", "memory"].append(memory)
            figures["PyTorch", "first step"].append(first)
            print(f"  run {turn + 1} of {options.runs}", flush=True)

    print(f"{'':>8} {'peak memory of a rank, GB':>28} {'first step after, s':>24} {'stop for a checkpoint, ms':>28}")
    for side in ("1 rank", "2 ranks", "PyTorch"):
        cells = [spread(figures[side, what], 2 if what != "stop" else 0) if figures[side, what] else "-"
                 for what in LIMITS]
        print(f"{side:>8} {cells[0]:>28} {cells[1]:>24} {cells[2]:>28}")
    memory = max(figures["1 rank", "memory"] + figures["2 ranks", "memory"])
    first = statistics.median(figures["1 rank", "first step"])
    stop = max(figures["1 rank", "stop"] + figures["2 ranks", "stop"])
    print(f"at most {memory:.2f} GB a rank ({LIMITS['memory']} or less; PyTorch "
          f"{statistics.median(figures['PyTorch', 'memory']):.2f}), first step after {first:.2f} s "
          f"({LIMITS['first step']:.0f} or less; PyTorch {statistics.median(figures['PyTorch', 'first step']):.2f}), "
          f"a checkpoint stops training for at most {stop:.0f} ms ({LIMITS['stop']:.0f} or less)")
    sys.exit(memory > LIMITS["memory"] or first > LIMITS["first step"] or stop > LIMITS["stop"])


if __name__ == "__main__":
    main()
