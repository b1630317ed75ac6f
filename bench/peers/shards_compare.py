"""What it costs and saves that ranks divide the training state (--shard). Sentences of SST-2, fp32, AdamW.

rates   two ranks of one thread, with and without, beside one rank of two threads, by turns; and four ranks with and
        without
memory  the PSS of all processes of four ranks of base after step 20, of one sample of 16 tokens a rank, less that of
        tiny, with, without and with --shard gradients; of four hosts of one rank with --shard parameters; and of
        adapters of rank 8 on large
host    a step and the memory of two and of four ranks of one host, beside FSDP2 and ZeroRedundancyOptimizer of PyTorch,
        on texts that make_texts makes
cable   the same for two hosts with two ranks each, and what they send, over a cable of 1 Gbit/s

Exit code 1 if a target is missed."""

import argparse
import contextlib
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from measuring import HERE, end_unmeasured, print_machine, program, run, spread

sys.path.append(str(HERE / "collectives"))
import checks  # noqa: E402
import report  # noqa: E402
import shards_peers  # noqa: E402
from checks import Check  # noqa: E402
from namespace_hosts import Failed, Hosts, Refused  # noqa: E402
from sst2 import data_folder, rate_of, sources, write_sentences  # noqa: E402
from train_compare import SIX_LAYERS  # noqa: E402
from training_jobs import OneHost, SingleRanks, has_shard, memory_at, of_bp  # noqa: E402

LEAST_OF_ONE_RANK = 0.97
LEAST_OF_NONE = 1.0
MOST_MEMORY = {"optimizer": 0.48, "gradients": 0.25}  # four ranks of base
MOST_OF_PARAMETERS = 0.45  # four hosts of one rank of base
MOST_OF_ADAPTERS = 0.30  # four ranks of large with adapters
MEASURED_STEP = 20


def ratio_of(first, second):
    """Of the rates of two sides that took turns: a Check's figures, and the median of the ratios."""
    ratios = [one / other for one, other in zip(first, second)]
    low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    return (f"{middle:.3f} [{low:.3f} .. {high:.3f}]; {statistics.median(first):.0f} / {statistics.median(second):.0f} "
            "samples/s"), middle


def ranks(count):
    return [program("bprun"), "-n", count, program("bert_train")]


def in_turns(folder, model, options, *sides):
    """The rates of each side. Another one begins each time."""
    found = [[] for _ in sides]
    for turn in range(options.pairs):
        for number in range(len(sides)):
            side = (turn + number) % len(sides)
            command, batch, shard = sides[side]
            found[side].append(rate_of([*command, *sources(folder), "--store", folder / "sst2.sqlite", "--model", model,
                                        "--vocab", options.vocabulary, "--batch", batch, "--shard", shard], folder / "run",
                                       options))
    print("  samples/s: " + ", ".join(spread(rates) for rates in found), flush=True)
    return found


def check_rates(folder, name, model, options):
    one, two, without = in_turns(folder, model, options, ([program("bert_train")], 2 * options.batch, "none"),
                                 *[(ranks(2), options.batch, shard) for shard in ("optimizer", "none")])
    text, ratio = ratio_of(two, one)
    yield Check(f"{name}: two ranks of one thread / one of two", text, f"{LEAST_OF_ONE_RANK} or more",
                ratio >= LEAST_OF_ONE_RANK)
    print(f"  {name}: the same with --shard none: {ratio_of(without, one)[0]}", flush=True)
    text, ratio = ratio_of(*in_turns(folder, model, options, *[(ranks(4), options.batch // 2, shard)
                                                              for shard in ("optimizer", "none")]))
    yield Check(f"{name}: four ranks with --shard optimizer / none", text, f"{LEAST_OF_NONE:.2f} or more",
                ratio >= LEAST_OF_NONE)


def short_sources(folder):
    """The sentences, of 16 tokens at most."""
    return [*sources(folder)[:-1], 16, "--store", folder / "short.sqlite"]


def memory_of(place, folder, options, shard, model, *more):
    """GiB after MEASURED_STEP."""
    steps = 10 * MEASURED_STEP
    return memory_at(of_bp(place, folder, *short_sources(folder), "--model", model, "--vocab", options.vocabulary,
                           "--batch", 1, "--steps", steps, "--eval-every", steps, "--save-every", "none", "--shard", shard,
                           *more), MEASURED_STEP)


def check_memory(folder, options):
    def more_than_tiny(shard, model, *more, place=OneHost(4)):
        return (memory_of(place, folder, options, shard, model, *more) -
                memory_of(place, folder, options, shard, "tiny"))

    def compare(what, shard, shared, whole, most):
        return Check(f"{what}: PSS beyond tiny, {shard} / none", f"{shared:.2f} / {whole:.2f} GiB = {shared / whole:.3f}",
                     f"{most} or less", shared / whole <= most)

    whole = more_than_tiny("none", "base")
    for shard, most in MOST_MEMORY.items():
        yield compare("base, 4 ranks", shard, more_than_tiny(shard, "base"), whole, most)
    what = "base, 4 hosts of one rank"
    with contextlib.ExitStack() as stack:
        try:
            hosts = SingleRanks(Hosts(stack, 4))
            yield compare(what, "parameters", more_than_tiny("parameters", "base", place=hosts),
                          more_than_tiny("none", "base", place=hosts), MOST_OF_PARAMETERS)
        except (Refused, Failed) as why:
            yield Check(f"{what}: PSS beyond tiny, parameters / none", str(why), f"{MOST_OF_PARAMETERS} or less")
    if not options.large:
        return
    large = folder / "large"
    run([program("bert_train"), *short_sources(folder), "--model", "large",
         "--vocab", options.vocabulary, "--steps", 1, "--batch", 1, "--save-every", "none", "--run", large])
    whole, shared = (more_than_tiny(shard, large / "model", "--lora", 8) for shard in ("none", "optimizer"))
    yield compare("adapters on large, 4 ranks", "optimizer", shared, whole, MOST_OF_ADAPTERS)


def rates(folder, options):
    window = options.window
    for model in options.models:
        options.window = 10 * window if model == "tiny" else window
        yield from check_rates(folder, model, "tiny" if model == "tiny" else folder / model, options)


def of_peers(part):
    """A part that compares with PyTorch."""
    def measure(folder, options):
        for model in options.peer_models:
            texts = folder / f"texts-{part.__name__}-{model}"
            run([HERE / "make_texts", texts, options.peer_rows, options.tokens])
            options.peer_model = model
            yield from part(texts, folder / model if model == "6x384" else model, options)
    return measure


PARTS = {"rates": rates, "memory": check_memory, "host": of_peers(shards_peers.on_one_host),
         "cable": of_peers(shards_peers.over_a_cable)}
PEERS = ("host", "cable")


def words(text):
    return text.split(",")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=words, default=list(PARTS), metavar="PART,...", help="some of " + ",".join(PARTS))
    parser.add_argument("--quick", action="store_true", help="one or two short runs of each, without large: a first look")
    parser.add_argument("--json", type=pathlib.Path, help="write the results to this file")
    parser.add_argument("--markdown", type=pathlib.Path, help="put the results into this page (docs/benchmarks.md)")
    parser.add_argument("--pairs", type=int, default=15, help="rates: runs of each side")
    parser.add_argument("--models", type=words, default=["tiny", "6x384"], help="rates: some of tiny,6x384")
    parser.add_argument("--windows", type=int, default=5, help="rates: windows of steps in a run")
    parser.add_argument("--window", type=int, default=10, help="rates: steps in a window; ten times as many for tiny")
    parser.add_argument("--batch", type=int, default=32, help="rates: of a rank, where there are two")
    parser.add_argument("--rows", type=int, default=20000, help="rates: sentences to train on")
    parser.add_argument("--no-large", dest="large", action="store_false", help="memory: leave out the adapters on large")
    parser.add_argument("--peer-models", type=words, default=["6x384"], help="host, cable: some of mini,6x384,base")
    parser.add_argument("--peer-ranks", type=lambda text: [int(word) for word in words(text)], default=[2, 4], help="host")
    parser.add_argument("--peer-runs", type=int, default=3, help="host, cable")
    parser.add_argument("--peer-windows", type=int, default=5, help="host, cable: windows of steps in a run")
    parser.add_argument("--peer-window", type=int, default=4, help="host, cable: steps in a window")
    parser.add_argument("--peer-batch", type=int, default=32, help="host, cable: of a rank")
    parser.add_argument("--peer-rows", type=int, default=8192, help="host, cable: texts to train on")
    parser.add_argument("--tokens", type=int, default=16, help="host, cable: of each text")
    options = parser.parse_args()
    if unknown := set(options.only) - set(PARTS):
        parser.error(f"--only {', '.join(sorted(unknown))}: there are {', '.join(PARTS)}")
    if options.quick:
        options.pairs = min(options.pairs, 2)
        options.windows = min(options.windows, 3)
        options.peer_runs, options.peer_windows, options.large = 1, 3, False
    return options


def without_peers(options):
    """Why the parts that compare with PyTorch cannot be measured, or nothing."""
    if not (set(PEERS) & set(options.only)):
        return ""
    found = subprocess.run([sys.executable, "-c", "import torch.distributed.fsdp, safetensors"], capture_output=True,
                           text=True, check=False)
    return found.returncode and f"bench/peers/setup has not installed PyTorch: {found.stderr.strip().splitlines()[-1]}"


def remarks_of(part, options):
    """How a part was measured, for the page."""
    if part == "rates":
        yield (f"{options.pairs} runs of each side, by turns: the median of the ratios and their quartiles, then the medians "
               "of both")
    if part in PEERS:
        yield f"{options.peer_runs} runs of each side, by turns; {options.peer_batch} samples of {options.tokens} tokens a rank"
    yield "other processors: not seen"
    yield datetime.date.today().isoformat() + (", a quick run: a look, not figures to quote" if options.quick else "")


def measure(folder, options, write):
    """The checks of all parts. `write` gets the name of a part and its checks."""
    (folder / "6x384").mkdir()
    (folder / "6x384" / "config.json").write_text(json.dumps(SIX_LAYERS))
    if not {"rates", "memory"}.isdisjoint(options.only):
        data = data_folder()
        options.vocabulary = data / "bert-base-uncased" / "vocab.txt"
        write_sentences(folder, data, options.rows)
    why, all_found = without_peers(options), []
    for part in options.only:
        found = []
        for check in [Check(part, why, "-")] if why and part in PEERS else PARTS[part](folder, options):
            found.append(check)
            print(check, flush=True)
        write(part, found)
        all_found += found
    return all_found


def main():
    options = parse_arguments()
    if os.cpu_count() < 2:
        end_unmeasured("two ranks need two cores")
    machine = print_machine()

    def write(part, found):
        if options.markdown:
            section = report.section(f"Shards ({part})", found, [*machine, *remarks_of(part, options)])
            options.markdown.write_text(report.with_section(options.markdown.read_text(), section))

    with tempfile.TemporaryDirectory(prefix="bp_shards_") as name:
        found = measure(pathlib.Path(name), options, write)
    sys.exit(checks.finish(found, options.json))


if __name__ == "__main__":
    main()
