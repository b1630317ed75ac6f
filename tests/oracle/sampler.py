"""Compares the TPE of bprun sweep with Optuna's: sampler.py SAMPLER_REGRETS [SEEDS]. Both search the functions of
tests/unit/launcher/sweep/test_functions.h with 60 trials, one at a time. Prints a table of median regrets (the least value
found minus the minimum), and exits with 1 if that of bp is more than 1.2 times Optuna's or not below that of random."""

import collections
import math
import statistics
import subprocess
import sys
import warnings

import optuna

TRIALS = 60
MINIMUM = {"branin": 0.39788735772973816, "hartmann6": -3.322368011391339, "mixed": 0.0}
WEIGHT = [1.0, 1.2, 3.0, 3.2]
SCALE = [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
CENTRE = [
    [0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886],
    [0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991],
    [0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650],
    [0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381],
]


def branin(trial):
    x, y = trial.suggest_float("x", -5, 10), trial.suggest_float("y", 0, 15)
    bent = y - 5.1 / (4 * math.pi**2) * x * x + 5 / math.pi * x - 6
    return bent * bent + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def hartmann6(trial):
    xs = [trial.suggest_float(f"x{k}", 0, 1) for k in range(6)]
    return -sum(
        weight * math.exp(-sum(a * (x - c) ** 2 for a, x, c in zip(scale, xs, centre)))
        for weight, scale, centre in zip(WEIGHT, SCALE, CENTRE)
    )


def mixed(trial):
    kind = trial.suggest_categorical("optimizer", ["adam", "sgd", "lion", "rmsprop"])
    offset = {"adam": 0, "sgd": 0.2, "lion": 0.5, "rmsprop": 1}[kind]
    best_lr = {"sgd": -1.5, "lion": -4.5}.get(kind, -3.5)
    value = offset + (math.log10(trial.suggest_float("lr", 1e-6, 1, log=True)) - best_lr) ** 2
    value += 0.04 * (trial.suggest_int("layers", 1, 12) - 7) ** 2
    value += 0.1 * (math.log2(trial.suggest_categorical("batch", [4, 8, 16, 32, 64])) - 4) ** 2
    if kind == "sgd":
        value += 2 * (trial.suggest_float("momentum", 0, 0.99) - 0.9) ** 2
    return value


def check_functions():
    """At one point each, computed by hand from the definitions, so that both sides search the same."""
    at = optuna.trial.FixedTrial
    assert abs(branin(at({"x": math.pi, "y": 2.275})) - MINIMUM["branin"]) < 1e-6
    best = dict(zip((f"x{k}" for k in range(6)), [0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573]))
    assert abs(hartmann6(at(best)) - MINIMUM["hartmann6"]) < 1e-5
    assert abs(mixed(at({"optimizer": "sgd", "lr": 0.1, "layers": 5, "batch": 4, "momentum": 0.4})) - 1.51) < 1e-9


def optuna_regret(name, function, seed):
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    study.optimize(function, n_trials=TRIALS)
    return study.best_value - MINIMUM[name]


def main():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    check_functions()
    program, seeds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20
    regrets = collections.defaultdict(list)
    lines = subprocess.run([program, str(TRIALS), str(seeds)], check=True, capture_output=True, text=True).stdout
    for line in lines.splitlines():
        name, sampler, _, regret = line.split()
        regrets[name, sampler].append(float(regret))
    for name, function in (("branin", branin), ("hartmann6", hartmann6), ("mixed", mixed)):
        regrets[name, "optuna"] = [optuna_regret(name, function, seed) for seed in range(seeds)]
    print(f"median regret of {TRIALS} trials, {seeds} seeds; Optuna {optuna.__version__}")
    print(f"{'':12}{'random':>10}{'tpe':>10}{'Optuna':>10}{'tpe/Optuna':>12}")
    failed = False
    for name in MINIMUM:
        random, tpe, peer = (statistics.median(regrets[name, s]) for s in ("random", "tpe", "optuna"))
        failed |= tpe > 1.2 * peer or tpe >= random
        print(f"{name:12}{random:10.4f}{tpe:10.4f}{peer:10.4f}{tpe / peer:12.2f}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
