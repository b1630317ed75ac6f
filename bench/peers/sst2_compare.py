"""bert_train on sentences of SST-2, which have 13 tokens on average and up to 64, beside what people train it with: a
hand-written PyTorch loop whose batches have texts of similar length (torch_loop.py), and the Trainer of transformers;
and two ranks of bert_train with half of the cores each beside one rank with all of them, on the same steps.
One process each otherwise, all cores, the same precision (bf16 by autocast in the other two), shape, batch, dropout and
clipping, the same token ids, and the settings of malloc that bert_train gives itself. Padding is not computed by
bert_train, and by the others up to the longest text of a batch. The loop runs in whichever form is the fastest here.
With --device cuda all of them compute on a GPU, where one rank is measured and no target is set but the peers' rates.
Runs take turns. That both sides compute the same losses and accuracies is shown elsewhere (same_losses.py,
tests/oracle/trainer). Exit code 1 if a target is missed."""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import sys
import tempfile

from measuring import HERE, KEEPS_LARGE_BLOCKS, ROOT, end_unmeasured, print_machine, program, run, run_json, spread
from sst2 import data_folder, rate_of, sources, write_ids, write_sentences
from train_compare import FORMS, LR, SIX_LAYERS

sys.path.append(str(HERE / "collectives"))
import checks  # noqa: E402
from checks import Check  # noqa: E402

TINY = {**SIX_LAYERS, "hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 512}
BASE = {**SIX_LAYERS, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072}
SHAPES = {"tiny": TINY, "6x384": SIX_LAYERS, "base": BASE}
TARGETS = {"tiny": (2.0, 4.0), "6x384": (1.5, 4.0)}  # times the loop, times the Trainer, on CPUs

def ours(folder, shape, precision, options, ranks=1):
    return rate_of([program("bprun"), "-n", ranks, program("bert_train"), "--device", options.device, *sources(folder),
                    "--vocab", options.vocab, "--store", folder / "store.sqlite", "--model", folder / shape,
                    "--precision", precision, "--batch", options.batch // ranks, "--lr", LR], folder / "run", options)


def loop(folder, shape, precision, options, form):
    return run_json([options.python, HERE / "torch_loop.py", "--device", options.device, "--ids", folder / "ids.npz", "--model", folder / shape,
                     "--batch", options.batch, "--precision", precision, "--trim", "--buckets", 50, "--attention", form[0],
                     "--qkv", form[1], "--windows", options.windows, "--window-steps", options.window,
                     "--lr", LR], env=os.environ | KEEPS_LARGE_BLOCKS)["samples_per_s"]


def trainer(folder, shape, precision, options):
    return run_json([options.python, HERE / "hf_trainer_loop.py", "--device", options.device, "--ids", folder / "ids.npz", "--config", folder / shape,
                     "--precision", precision, "--batch", options.batch, "--windows", options.windows, "--window-steps", options.window,
                     "--lr", LR], env=os.environ | KEEPS_LARGE_BLOCKS)["samples_per_s"]


def compare(folder, shape, precision, options):
    tried = {form: loop(folder, shape, precision, options, form) for form in FORMS}
    form = max(tried, key=tried.get)
    sides = {"bert_train": lambda: ours(folder, shape, precision, options),
             "loop": lambda: loop(folder, shape, precision, options, form),
             "Trainer": lambda: trainer(folder, shape, precision, options)}
    if options.device == "cpu":
        sides["two ranks"] = lambda: ours(folder, shape, precision, options, ranks=2)
    rates = {name: [] for name in sides}
    for turn in range(options.runs):
        names = list(sides)
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            rates[name].append(sides[name]())
    print(f"\n{shape}, {precision}, batches of {options.batch}: samples/s "
          + ", ".join(f"{name} {spread(found)}" for name, found in rates.items()) + f" (loop: {' '.join(form)})")
    mine = statistics.median(rates["bert_train"])
    targets = TARGETS.get(shape, (1.0, 1.0)) if options.device == "cpu" else (1.0, 1.0)
    for name, target in zip(("loop", "Trainer"), targets):
        ratio = mine / statistics.median(rates[name])
        yield Check(f"{shape}, {precision}: samples/s, bert_train / {name}", f"{ratio:.2f}", f"{target:.2f} or more", ratio >= target)
    if "two ranks" in rates:
        ratio = statistics.median(rates["two ranks"]) / mine
        yield Check(f"{shape}, {precision}: samples/s, two ranks / one", f"{ratio:.2f}", "1.00 or more", ratio >= 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shapes", default="tiny,6x384", help="some of tiny,6x384,base")
    parser.add_argument("--precisions", default="fp32", help="some of fp32,bf16")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--python", default=ROOT / ".deps" / "oracle" / "bin" / "python", help="with PyTorch and transformers")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--windows", type=int, default=10, help="windows of steps in a run")
    parser.add_argument("--window", type=int, default=20, help="steps in a window")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rows", type=int, default=20000, help="sentences to train on")
    options = parser.parse_args()
    data = data_folder()
    if options.device == "cuda" and shutil.which("nvidia-smi") is None:
        end_unmeasured("nvidia-smi is not installed, so this machine has no GPU of NVIDIA")
    options.vocab = data / "bert-base-uncased" / "vocab.txt"
    print_machine()
    if options.device == "cuda":
        print("GPU: " + run(["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]).strip())
    found = []
    with tempfile.TemporaryDirectory(prefix="bp_sst2_") as name:
        folder = pathlib.Path(name)
        write_sentences(folder, data, options.rows)
        write_ids(folder, options.python, options.vocab)
        for shape in options.shapes.split(","):
            (folder / shape).mkdir()
            (folder / shape / "config.json").write_text(json.dumps(SHAPES[shape]))
            for precision in options.precisions.split(","):
                for check in compare(folder, shape, precision, options):
                    found.append(check)
                    print(check, flush=True)
    sys.exit(checks.finish(found))


if __name__ == "__main__":
    main()
