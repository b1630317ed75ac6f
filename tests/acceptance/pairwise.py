#!/usr/bin/env python3
"""Trains with each pair of values of precision, accumulation, world, schedule, optimizer, task, kind of batch, what
ranks divide and type of gradients between ranks, on several ranks and in one process, and prints how far the weights
differ.

  tests/acceptance/pairwise.py BIN WORK    BIN: the folder of bert_train and bprun; WORK: a folder for data and runs

The one process has as many micro-batches as all ranks together. Exits with 1 if a difference is above its tolerance."""
import array
import json
import os
import random
import shutil
import subprocess
import sys

from all_pairs import all_pairs

FACTORS = {
    "schedule": ["linear", "cosine", "constant", "polynomial", "step", "inverse-sqrt", "cyclic"],
    "optimizer": ["adamw", "adam", "sgd", "lion", "lamb", "adadelta"],
    "task": ["classify", "pairs", "regress", "tokens", "pretrain"],
    "world": ["1", "2", "4", "3+1"],
    "precision": ["fp32", "bf16", "fp16"],
    "accumulate": ["1", "2", "1,3"],
    "batch": ["rows", "tokens"],
    "shard": ["none", "host", "optimizer", "gradients", "parameters"],  # of the several ranks
    "wire": ["fp32", "int8"],  # of the several ranks; fp32 where they free gradients
}
WORLDS = {"1": ["-n", "1"], "2": ["-n", "2"], "4": ["-n", "4"], "3+1": ["-H", "localhost:3,127.0.0.1:1"]}
RANKS = {"1": 1, "2": 2, "4": 4, "3+1": 4}
RATE = {"sgd": 0.05, "adadelta": 0.5, "lion": 1e-4}
SCHEDULE = {"step": ["--decay-every", "3"], "cyclic": ["--cycle", "4"], "polynomial": ["--power", "2"]}
WORDS = "red blue green stone river cloud bird house tree lake snow wind".split()


def make_data(work):
    draw = random.Random(1)
    text = lambda: " ".join(draw.choices(WORDS, k=draw.randint(2, 9)))
    with open(f"{work}/rows.csv", "w") as file:
        file.write("text,other,label,number\n")
        for _ in range(24):
            file.write(f"{text()},{text()},{draw.choice(['bad', 'good'])},{draw.random():.3f}\n")
    with open(f"{work}/tags.conll", "w") as file:
        for _ in range(24):
            words = draw.choices(WORDS, k=draw.randint(2, 9))
            file.write("".join(f"{word} {'B-X' if word < 'h' else 'O'}\n" for word in words) + "\n")
    with open(f"{work}/plain.txt", "w") as file:
        for _ in range(16):
            file.write("".join(f"{text()}.\n" for _ in range(3)) + "\n")
    os.mkdir(f"{work}/small")
    with open(f"{work}/small/config.json", "w") as file:
        json.dump({"model_type": "bert", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
                   "intermediate_size": 64, "max_position_embeddings": 32, "vocab_size": 200,
                   "type_vocab_size": 2, "hidden_act": "gelu"}, file)


def data_of(task):
    return {
        "classify": ["rows.csv"],
        "pairs": ["rows.csv", "--text2", "other"],
        "regress": ["rows.csv", "--task", "regress", "--target", "number"],
        "tokens": ["tags.conll", "--task", "tokens"],
        "pretrain": ["plain.txt", "--task", "pretrain"],
    }[task]


def several_ranks(setting):
    """Returns options. int8 needs whole gradients."""
    frees = setting["shard"] in ("gradients", "parameters")
    return ["--shard", setting["shard"], "--wire", "fp32" if frees else setting["wire"]]


def train(setting, work, run, ranks, placing, options):
    """Returns the weights after training, by their names."""
    factor = RANKS[setting["world"]] // ranks
    accumulate = ",".join(str(int(count) * factor) for count in setting["accumulate"].split(","))
    batch = ["--batch", "3"] if setting["batch"] == "rows" else ["--max-tokens", "40"]
    command = placing + data_of(setting["task"]) + [
        "--store", f"{setting['task']}.sqlite", "--model", "small", "--max-length", "32", "--vocab-size", "200",
        "--epochs", "2", "--save-every", "none", "--precision", setting["precision"], "--schedule",
        setting["schedule"], *SCHEDULE.get(setting["schedule"], []), "--optimizer", setting["optimizer"], "--lr",
        str(RATE.get(setting["optimizer"], 1e-3)), "--accumulate", accumulate, *batch, *options, "--run", run]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=300,
                          env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    with open(f"{work}/{run}/summary.json") as file:
        steps = json.load(file)["steps"]
    weights = read_weights(f"{work}/{run}/model/model.safetensors")
    shutil.rmtree(f"{work}/{run}")
    return weights, steps


def read_weights(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        values = file.read()
    header.pop("__metadata__", None)
    return {name: array.array("f", values[slice(*entry["data_offsets"])]) for name, entry in header.items()}


def largest_difference(some, others):
    assert some.keys() == others.keys()
    return max(abs(a - b) for name in some for a, b in zip(some[name], others[name], strict=True))


def tolerance(setting, steps):
    if setting["world"] == "1":
        return 0.0  # the same computation
    if setting["optimizer"] == "lion":
        return 2 * steps * RATE["lion"]  # the sign of a gradient near 0 depends on the order of a sum
    if setting["world"] == "3+1" and "int8" in several_ranks(setting):
        # Others divide a gradient by its size, and may turn around where it is rounded to 0.
        return 2e-3 if setting["optimizer"] == "sgd" else 2 * steps * RATE.get(setting["optimizer"], 1e-3)
    return 2e-5 if setting["precision"] == "fp32" else 2e-3  # a last bit is 2^-8 of bf16 and 2^-11 of fp16


def main():
    binaries, work = map(os.path.abspath, sys.argv[1:3])
    make_data(work)
    settings = all_pairs(FACTORS)
    print(" ".join(f"{name:13}" for name in FACTORS), f"{'difference':>10} {'tolerance':>10}")
    failed = 0
    for i, setting in enumerate(settings):
        alone, steps = train(setting, work, f"alone-{i}", 1, [f"{binaries}/bert_train"], ["--shard", "none"])
        placing = [f"{binaries}/bprun", *WORLDS[setting["world"]], f"{binaries}/bert_train"]
        together, same_steps = train(setting, work, f"ranks-{i}", RANKS[setting["world"]], placing,
                                     several_ranks(setting))
        most = tolerance(setting, steps)
        found = largest_difference(alone, together)
        good = found <= most and steps == same_steps
        failed += not good
        print(" ".join(f"{value:13}" for value in setting.values()), f"{found:10.1e} {most:10.1e}",
              "" if good else "ABOVE" if found > most else f"{same_steps} steps, not {steps}", flush=True)
    print(f"{len(settings) - failed} of {len(settings)} settings train in several processes what one process trains")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
