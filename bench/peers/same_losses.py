"""Whether bert_train and torch_loop.py compute the same: from the same weights, without dropout, on the same batches
in the same order, their losses agree step by step. What is timed afterwards is then the same work."""

import json
import shutil
import sys

from measuring import HERE, program, run, run_json

STEPS = 10
# How far two losses may lie apart, as a share. A rounding of fp32 is 2^-24, and the two sides round at different
# places; ten steps of AdamW make some hundred times as much of that. A rounding of bf16 is 2^-8: eight of them.
TOLERANCE = {"fp32": 2**-16, "bf16": 2**-5}
# The head of fresh weights gives logits near 0 and a loss near ln 2 whatever comes before it.
HEAD_FACTOR = 10


def first_difference(ours, theirs, tolerance):
    """Where two lists of losses differ, in words; empty where each pair agrees within the share `tolerance`."""
    if not ours or len(ours) != len(theirs):
        return f"bert_train has {len(ours)} losses, the loop {len(theirs)}"
    for step, (mine, other) in enumerate(zip(ours, theirs), 1):
        if not abs(mine - other) <= tolerance * min(abs(mine), abs(other)):  # NaN is a difference
            return f"step {step}: loss {mine:.7f} of bert_train, {other:.7f} of the loop"
    return ""


def largest_share(ours, theirs):
    return max(abs(mine - other) / min(abs(mine), abs(other)) for mine, other in zip(ours, theirs))


def starting_model(folder, model, data):
    """A model's folder with weights that both sides load."""
    from safetensors.numpy import load_file, save_file  # the tests of first_difference() need none
    target = folder / "start"
    shutil.rmtree(target, ignore_errors=True)
    run([program("bert_train"), *data, "--model", model, "--steps", 1, "--run", target])
    file = target / "model" / "model.safetensors"
    weights = load_file(file)
    weights["classifier.weight"] = weights["classifier.weight"] * HEAD_FACTOR
    save_file(weights, file, {"format": "pt"})
    return target / "model"


def our_losses(folder, start, data, options, launcher=(), ranks=1):
    """Those of each step, and for each rank the rows of each step in the order of ids.npz. `launcher`: the words that
    start several ranks."""
    shutil.rmtree(folder / "run", ignore_errors=True)
    shutil.rmtree(folder / "trace", ignore_errors=True)
    run([*launcher, program("bert_train"), *data, "--model", start, "--steps", STEPS, "--dropout", 0, "--run", folder / "run",
         "--trace", folder / "trace", *options])
    traces = [[json.loads(line) for line in (folder / "trace" / f"rank-{rank}.jsonl").read_text().splitlines()]
              for rank in range(ranks)]
    rows = [[[sample - 1 for batch in step["samples"] for sample in batch] for step in trace] for trace in traces]
    return [step["loss"] for step in traces[0]], rows


def require_same_losses(folder, model, data, options, forms, loop_options=()):
    """Ends the comparison where a form of the loop computes something else, in fp32 or in the measured precision.
    `options` are those that both sides call by the same names, `loop_options` the loop's alone."""
    start = starting_model(folder, model, data)
    for precision in dict.fromkeys(("fp32", options["--precision"])):
        chosen = [str(word) for pair in {**options, "--precision": precision}.items() for word in pair]
        ours, (rows,) = our_losses(folder, start, data, chosen)
        (folder / "rows.json").write_text(json.dumps(rows))
        shares = []
        for attention, qkv in forms:
            theirs = run_json([sys.executable, HERE / "torch_loop.py", "--ids", folder / "ids.npz", "--model", start,
                               "--weights", start / "model.safetensors", "--rows", folder / "rows.json", "--dropout", 0,
                               "--attention", attention, "--qkv", qkv, *chosen, *loop_options])["losses"]
            if why := first_difference(ours, theirs, TOLERANCE[precision]):
                sys.exit(f"{precision}: the loop ({attention} {qkv}) computes something else than bert_train: {why}")
            shares.append(largest_share(ours, theirs))
        print(f"  {precision}: {STEPS} losses from {ours[0]:.4f} to {ours[-1]:.4f} agree to "
              f"{max(shares):.1e} ({TOLERANCE[precision]:.1e} or less)", flush=True)
