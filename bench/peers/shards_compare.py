"""What it costs and saves that the ranks of a host share parameters and the optimizer's state (--shard optimizer).

Rate: two ranks of one thread, with and without, beside one rank of two threads, in pairs by turns; and four ranks with
and without. Memory: the PSS of all processes of four ranks of base after step 20, of one sample of 16 tokens a rank,
less that of tiny, with, without and with --shard gradients; and the same for adapters of rank 8 on large. Sentences of SST-2, fp32, AdamW.
Exit code 1 if a target is missed."""

import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from measuring import HERE, end_unmeasured, print_machine, program, run, spread
from sst2 import data_folder, rate_of, sources, write_sentences
from train_compare import SIX_LAYERS

sys.path.append(str(HERE / "collectives"))
import checks  # noqa: E402
from checks import Check  # noqa: E402

LEAST_OF_ONE_RANK = 0.97
LEAST_OF_NONE = 1.0
MOST_MEMORY = {"optimizer": 0.48, "gradients": 0.25}  # four ranks of base
MOST_OF_ADAPTERS = 0.30  # four ranks of large with adapters
MEASURED_STEP = 20


def quartiles(values):
    low, middle, high = statistics.quantiles(values, n=4) if len(values) > 1 else values * 3
    return f"{middle:.3f} [{low:.3f} .. {high:.3f}]"


def ranks(count):
    return [program("bprun"), "-n", count, program("bert_train")]


def ratios_of(folder, model, options, sides):
    """Pairs of runs of the two sides: the ratio of the first to the second in each."""
    found, rates = [], ([], [])
    for turn in range(options.pairs):
        pair = [0.0, 0.0]
        for side in (0, 1) if turn % 2 == 0 else (1, 0):
            command, batch, shard = sides[side]
            pair[side] = rate_of([*command, *sources(folder), "--store", folder / "sst2.sqlite", "--model", model, "--vocab",
                                  options.vocabulary, "--batch", batch, "--shard", shard], folder / "run", options)
            rates[side].append(pair[side])
        found.append(pair[0] / pair[1])
    print(f"  samples/s: {spread(rates[0])} and {spread(rates[1])}", flush=True)
    return found


def check_rates(folder, name, model, options):
    one = [program("bert_train")]
    found = ratios_of(folder, model, options, ((ranks(2), options.batch, "optimizer"), (one, 2 * options.batch, "none")))
    yield Check(f"{name}: two ranks of one thread / one of two", quartiles(found), f"{LEAST_OF_ONE_RANK} or more",
                statistics.median(found) >= LEAST_OF_ONE_RANK)
    found = ratios_of(folder, model, options, ((ranks(2), options.batch, "none"), (one, 2 * options.batch, "none")))
    print(f"{name}: the same with --shard none: {quartiles(found)}", flush=True)
    found = ratios_of(folder, model, options, ((ranks(4), options.batch // 2, "optimizer"),
                                               (ranks(4), options.batch // 2, "none")))
    yield Check(f"{name}: four ranks with --shard optimizer / none", quartiles(found), f"{LEAST_OF_NONE:.2f} or more",
                statistics.median(found) >= LEAST_OF_NONE)


def pss_of(target):
    """KiB of all bert_train processes that write this run."""
    total = 0
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if not entry.name.isdigit() or (entry / "comm").read_text().strip() != "bert_train":
                continue
            if str(target).encode() not in (entry / "cmdline").read_bytes().split(b"\0"):
                continue
            rollup = (entry / "smaps_rollup").read_text()
        except OSError:
            continue
        total += int(rollup.split("Pss:")[1].split()[0])
    return total


def short_sources(folder):
    """The sentences, of 16 tokens at most."""
    return [*sources(folder)[:-1], 16, "--store", folder / "short.sqlite"]


def memory_of(folder, options, shard, model, *more):
    """PSS (KiB) after MEASURED_STEP."""
    target = folder / f"memory-{shard}"
    run(["rm", "-rf", target])
    command = [*ranks(4), *short_sources(folder), "--model", model, "--vocab",
               options.vocabulary, "--batch", 1, "--steps", 10 * MEASURED_STEP, "--eval-every", 10 * MEASURED_STEP,
               "--save-every", "none", "--shard", shard, "--run", target, *more]
    job = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    metrics = target / "metrics.jsonl"
    deadline = time.monotonic() + 600
    try:
        while time.monotonic() < deadline and job.poll() is None:
            if metrics.exists() and f'"step":{MEASURED_STEP},' in metrics.read_text():
                return pss_of(target)
            time.sleep(0.05)
        sys.exit(f"{' '.join(map(str, command))}\ndid not reach step {MEASURED_STEP}")
    finally:
        if job.poll() is None:
            job.send_signal(signal.SIGTERM)
            job.wait()


def check_memory(folder, options):
    def more_than_tiny(shard, model, *more):
        return (memory_of(folder, options, shard, model, *more) - memory_of(folder, options, shard, "tiny")) / 1024 ** 2

    whole = more_than_tiny("none", "base")
    for shard, most in MOST_MEMORY.items():
        shared = more_than_tiny(shard, "base")
        yield Check(f"base, 4 ranks: PSS beyond tiny, {shard} / none",
                    f"{shared:.2f} / {whole:.2f} GiB = {shared / whole:.3f}", f"{most} or less", shared / whole <= most)
    if not options.large:
        return
    large = folder / "large"
    run([program("bert_train"), *short_sources(folder), "--model", "large",
         "--vocab", options.vocabulary, "--steps", 1, "--batch", 1, "--save-every", "none", "--run", large])
    whole, shared = (more_than_tiny(shard, large / "model", "--lora", 8) for shard in ("none", "optimizer"))
    yield Check("adapters on large, 4 ranks: PSS beyond tiny, optimizer / none",
                f"{shared:.2f} / {whole:.2f} GiB = {shared / whole:.3f}", f"{MOST_OF_ADAPTERS} or less",
                shared / whole <= MOST_OF_ADAPTERS)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default="tiny,6x384", help="some of tiny,6x384; none: memory only")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--windows", type=int, default=5, help="windows of steps in a run")
    parser.add_argument("--window", type=int, default=10, help="steps in a window; ten times as many for tiny")
    parser.add_argument("--batch", type=int, default=32, help="of a rank, where there are two")
    parser.add_argument("--rows", type=int, default=20000, help="sentences to train on")
    parser.add_argument("--no-memory", dest="memory", action="store_false")
    parser.add_argument("--no-large", dest="large", action="store_false", help="leave out the adapters on large")
    options = parser.parse_args()
    data = data_folder()
    options.vocabulary = data / "bert-base-uncased" / "vocab.txt"
    if os.cpu_count() < 2:
        end_unmeasured("two ranks need two cores")
    print_machine()
    found = []
    with tempfile.TemporaryDirectory(prefix="bp_shards_") as name:
        folder = pathlib.Path(name)
        write_sentences(folder, data, options.rows)
        (folder / "6x384").mkdir()
        (folder / "6x384" / "config.json").write_text(json.dumps(SIX_LAYERS))
        window = options.window
        for model in filter(None, options.models.split(",")):
            options.window = 10 * window if model == "tiny" else window
            for check in check_rates(folder, model, "tiny" if model == "tiny" else folder / model, options):
                found.append(check)
                print(check, flush=True)
        for check in check_memory(folder, options) if options.memory else ():
            found.append(check)
            print(check, flush=True)
    sys.exit(checks.finish(found))


if __name__ == "__main__":
    main()
