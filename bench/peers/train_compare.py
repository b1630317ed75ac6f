"""bert_train against torch_loop.py: one process each, all cores, batches of length 128 without
padding, the same shape, dropout, precision, clipping and schedule. The loop runs in whichever form
is the fastest here: SDPA or plain attention, query, key and value merged or separate. Runs
interleave and take turns at being first. Before that, both compute the same losses (same_losses.py). Exit code 1
when they do not, or when bert_train's median is lower."""

import argparse
import itertools
import json
import math
import os
import pathlib
import shutil
import statistics
import sys
import tempfile

from measuring import HERE, KEEPS_LARGE_BLOCKS, has_bf16, print_machine, program, run, run_json, spread
from same_losses import require_same_losses

# MiniLM's shape; tiny is a preset on both sides.
SIX_LAYERS = {"model_type": "bert", "vocab_size": 30522, "hidden_size": 384,
              "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536,
              "max_position_embeddings": 512, "type_vocab_size": 2, "hidden_act": "gelu",
              "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1,
              "layer_norm_eps": 1e-12, "initializer_range": 0.02, "pad_token_id": 0}
LR = "5e-4"
FORMS = list(itertools.product(("sdpa", "plain"), ("merged", "separate")))  # of the loop
WARM_UP_SHARE = 0.2  # of the windows: not counted


def data_of(folder):
    """bert_train's words for the texts that make_texts wrote."""
    return [folder / "train.tsv", "--dev", folder / "dev.tsv", "--test", folder / "dev.tsv", "--header", "no",
            "--text", "1", "--label", "2", "--vocab", folder / "vocab.txt", "--max-length", "128",
            "--store", folder / "store.sqlite"]


def theirs(folder, model, options, form, steps):
    windows = max(3, steps // options.window)
    return run_json([sys.executable, HERE / "torch_loop.py", "--ids", folder / "ids.npz",
                     "--model", model, "--batch", options.batch, "--precision", options.precision,
                     "--attention", form[0], "--qkv", form[1], "--windows", windows,
                     "--window-steps", options.window, "--lr", LR], env=os.environ | KEEPS_LARGE_BLOCKS)


def ours(folder, model, options, steps):
    target = folder / "run"
    shutil.rmtree(target, ignore_errors=True)
    run([program("bert_train"), *data_of(folder), "--model", model, "--batch", options.batch,
         "--precision", options.precision, "--steps", steps, "--lr", LR, "--run", target])
    records = [json.loads(line) for line in (target / "metrics.jsonl").read_text().splitlines()]
    records = [record for record in records if "split" not in record]
    rates = window_rates(records, options.window)
    counted = rates[math.ceil(len(rates) * WARM_UP_SHARE):]
    if not counted:
        sys.exit(f"{steps} steps are too few for windows of {options.window}")
    return {"samples_per_s": statistics.median(counted), "loss": records[-1]["loss"]}


def window_rates(records, window):
    """Samples/s over windows of `window` steps, as torch_loop.py measures them."""
    rates, begin, samples, seconds, done = [], 0, 0, 0.0, 0
    for record in records:
        more = record["samples"] - done
        done = record["samples"]
        samples += more
        seconds += more / record["samples_per_s"]
        if record["step"] - begin >= window:
            rates.append(samples / seconds)
            begin, samples, seconds = record["step"], 0, 0.0
    return rates


def compare(folder, name, model, options):
    steps = options.steps or (300 if name == "tiny" else 30)
    print(f"\n{name}, {options.precision}, batch {options.batch} x 128")
    require_same_losses(folder, model, data_of(folder),
                        {"--batch": options.batch, "--precision": options.precision, "--lr": LR}, FORMS)
    tried = {form: theirs(folder, model, options, form, steps // 2)["samples_per_s"]
             for form in FORMS}
    form = max(tried, key=tried.get)
    print("  samples/s of PyTorch's forms: " +
          ", ".join(f"{a} {q} {rate:.1f}" for (a, q), rate in tried.items()))
    mine, loops = [], []
    for turn in range(options.runs):
        def run_ours():
            mine.append(ours(folder, model, options, steps))

        def run_theirs():
            loops.append(theirs(folder, model, options, form, steps))

        for side in (run_ours, run_theirs) if turn % 2 == 0 else (run_theirs, run_ours):
            side()
        print(f"  run {turn + 1}: bert_train {mine[-1]['samples_per_s']:.1f}, "
              f"PyTorch {loops[-1]['samples_per_s']:.1f}", flush=True)
    rates = [result["samples_per_s"] for result in mine]
    loop_rates = [result["samples_per_s"] for result in loops]
    ratio = statistics.median(rates) / statistics.median(loop_rates)
    print(f"  samples/s: bert_train {spread(rates)}, PyTorch ({' '.join(form)}) "
          f"{spread(loop_rates)}, ratio {ratio:.2f}")
    print(f"  last training loss: bert_train {mine[-1]['loss']:.3f}, PyTorch "
          f"{loops[-1]['loss']:.3f}")
    return ratio


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default="tiny,6x384", help="some of tiny,6x384")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=0, help="of a run; default 300 and 30")
    parser.add_argument("--window", type=int, default=10, help="steps in a window of the loop")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="bf16" if has_bf16() else "fp32",
                        help="default: bf16 if this processor has instructions for it, else fp32")
    parser.add_argument("--rows", type=int, default=8192, help="texts to train on")
    options = parser.parse_args()
    models = options.models.split(",")
    if not set(models) <= {"tiny", "6x384"}:
        parser.error(f"--models {options.models}: there are tiny and 6x384")

    program("bert_train")
    print_machine()
    with tempfile.TemporaryDirectory(prefix="bp_compare_") as name:
        folder = pathlib.Path(name)
        run([HERE / "make_texts", folder, options.rows])
        shape = folder / "6x384"
        shape.mkdir()
        (shape / "config.json").write_text(json.dumps(SIX_LAYERS))
        ratios = {}
        for model in models:
            # bert_train takes the folder, the loop the file in it.
            ratios[model] = compare(folder, model, "tiny" if model == "tiny" else shape, options)
    slower = [model for model, ratio in ratios.items() if ratio < 1]
    print("\nsamples/s, bert_train / PyTorch: "
          + ", ".join(f"{model} {ratio:.2f}" for model, ratio in ratios.items()) + " (1.00 or more)")
    sys.exit(1 if slower else 0)


if __name__ == "__main__":
    main()
