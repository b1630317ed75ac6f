#!/usr/bin/env python3
"""Kills a sweep of bert_train at moments that a seed determines: its driver, one of its trials, or the agent of a host.
The same command continues it. In the end every trial must have finished once, with the parameters that it has in a
sweep without kills.

sweep_kills.py BIN WORK -- DATA OPTIONS..."""

import argparse
import itertools
import os
import pathlib
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time

SPACE = """\
slots: 1
parameters:
  lr: [1e-3, 3e-4]
  batch: [8, 16]
  seed: [1, 2]
"""
TRIALS = 8
# A host that is reached by a command in place of ssh, so that its agent is a process that can be killed.
SSH = "sh -c 'for word; do :; done; eval \"exec $word\"' ssh"
END = 600  # seconds for any run of the sweep


def marked(mark):
    """Returns {process: command line} of the living processes that have the mark in their environment."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                found[int(folder.name)] = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue  # it has ended
    return found


class Sweep:
    """A sweep in a folder of its own, which run() starts or continues."""

    def __init__(self, arguments, name):
        self.folder = arguments.work / name
        self.mark = f"BP_SWEEP_KILLS={os.getpid()}-{name}"
        self.log = arguments.work / f"{name}.log"
        self.command = [arguments.bin / "bprun", "sweep", arguments.work / "space.yaml", "--folder", self.folder, "-q",
                        "-H", "far:1,localhost:2", "--ssh", SSH, "--lost-after", "5s",
                        "--max-restarts", arguments.kills, "--",
                        arguments.bin / "bert_train", *arguments.training]

    def start(self):
        variable, value = self.mark.split("=")
        with open(self.log, "a") as log:
            return subprocess.Popen([str(word) for word in self.command], stdin=subprocess.DEVNULL, stdout=log,
                                    stderr=log, env={**os.environ, variable: value}, start_new_session=True)

    def steps(self):
        """Returns how many steps all trials have logged so far."""
        steps = 0
        for path in self.folder.glob("trials/*/run/metrics.jsonl"):
            logged = re.findall(r'^\{"step":(\d+),', path.read_text(errors="replace"), re.MULTILINE)
            steps += int(logged[-1]) if logged else 0
        return steps

    def trials(self):
        """Returns {trial: (state, attempts)}."""
        with sqlite3.connect(f"file:{self.folder}/sweep.sqlite?mode=ro", uri=True) as database:
            rows = database.execute("SELECT number, state, attempts FROM trials").fetchall()
        database.close()
        return {number: (state, attempts) for number, state, attempts in rows}

    def model(self, trial):
        return (self.folder / "trials" / str(trial) / "run" / "model" / "model.safetensors").read_bytes()

    def victim(self, kind, driver, draw):
        """Returns the process to kill, or None if there is none of this kind now."""
        if kind == "driver":
            return driver.pid
        word = "--agent" if kind == "agent" else "bert_train"
        program = "bprun-sweep" if kind == "agent" else "bert_train"
        found = [process for process, words in sorted(marked(self.mark).items())
                 if pathlib.Path(words[0]).name == program and (kind == "trial" or word in words)]
        return draw.choice(found) if found else None


def kill_once(sweep, driver, threshold, kind, draw):
    """Waits until the trials have logged `threshold` steps, and kills. Returns what it killed; None if the sweep ended
    before."""
    deadline = time.monotonic() + END
    while sweep.steps() < threshold:
        if driver.poll() is not None:
            return None
        if time.monotonic() > deadline:
            raise SystemExit(f"FAIL the sweep did not get to {threshold} steps in {END} s; see {sweep.log}")
        time.sleep(0.05)
    time.sleep(draw.uniform(0, 0.3))
    victim = sweep.victim(kind, driver, draw)
    if victim is None:
        victim, kind = driver.pid, "driver"
    try:
        os.kill(victim, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it has just ended by itself
    if kind == "driver":
        driver.wait()
    return kind


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("training", nargs="+", metavar="DATA OPTION")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=20)
    arguments = parser.parse_args()
    arguments.bin = arguments.bin.absolute()
    arguments.work = arguments.work.resolve()
    (arguments.work / "space.yaml").write_text(SPACE)

    whole = Sweep(arguments, "undisturbed")
    if whole.start().wait(END) != 0:
        raise SystemExit(f"FAIL the undisturbed sweep failed; see {whole.log}")
    steps = whole.steps()

    draw = random.Random(arguments.seed)
    kinds = list(itertools.islice(itertools.cycle(["driver", "driver", "trial", "agent"]), arguments.kills))
    draw.shuffle(kinds)
    killed = Sweep(arguments, "killed")
    done = {}  # the attempts of each trial when it was first seen to have finished
    kills = []
    driver = None
    for i, kind in enumerate(kinds):
        if driver is None or driver.poll() is not None:
            driver = killed.start()
        threshold = steps * (i + draw.random()) / (arguments.kills + 1)
        if what := kill_once(killed, driver, threshold, kind, draw):
            kills.append(what)
        for trial, (state, attempts) in killed.trials().items():
            if state == "finished":
                done.setdefault(trial, attempts)
    if driver.poll() is None:
        driver.wait(END)
    if killed.start().wait(END) != 0:
        raise SystemExit(f"FAIL the sweep did not finish after {len(kills)} kills; see {killed.log}")
    trials = killed.trials()
    problems = [f"trial {trial} is {state}" for trial, (state, _) in trials.items() if state != "finished"]
    problems += [f"trial {trial} ran again after it had finished" for trial in done if trials[trial][1] != done[trial]]
    problems += [f"trial {trial} has other parameters" for trial in range(TRIALS)
                 if killed.model(trial) != whole.model(trial)]
    if len(trials) != TRIALS:
        problems.append(f"there are {len(trials)} trials")
    if len(kills) < arguments.kills:
        problems.append(f"only {len(kills)} kills came before the end")
    deadline = time.monotonic() + 20
    while marked(killed.mark) and time.monotonic() < deadline:
        time.sleep(0.1)
    problems += [f"process {process} is left: {' '.join(words)}" for process, words in marked(killed.mark).items()]
    count = {kind: kills.count(kind) for kind in sorted(set(kills))}
    print(f"{len(kills)} kills ({', '.join(f'{n} of the {kind}' for kind, n in count.items())}); "
          f"{sum(attempts for _, attempts in trials.values())} attempts; "
          + ("; ".join(problems) or f"{TRIALS} trials finished once, each with the undisturbed parameters"))
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
