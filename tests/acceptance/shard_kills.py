#!/usr/bin/env python3
"""Kills ranks of a run whose ranks divide the training state, at moments that a seed determines. Every second kill waits
until rank 0 writes a checkpoint. The same command resumes the run each time. In the end its checkpoint and its model
must equal those of an undisturbed run, bit for bit.

shard_kills.py BIN WORK [--kills N] [--seed N] -- BPRUN'S PLACES -- DATA OPTIONS OF BERT_TRAIN..."""

import argparse
import itertools
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

SAVE_EVERY = 5
END = 120  # seconds for any job
FILES = ("checkpoints/latest/model.safetensors", "checkpoints/latest/optimizer.safetensors", "model/model.safetensors")


class Run:
    """A run in a folder of its own, which start() starts or resumes."""

    def __init__(self, arguments, name, steps, save_every=SAVE_EVERY):
        self.folder = arguments.work / name
        self.log = arguments.work / f"{name}.log"
        self.pids = arguments.work / f"{name}.pid"
        self.command = [arguments.bin / "bprun", *arguments.places, "sh", "-c", 'echo $$ >"$0.$RANK"; exec "$@"', self.pids,
                        arguments.bin / "bert_train", *arguments.training, "--steps", steps, "--eval-every", steps,
                        "--save-every", save_every, "--run", self.folder]

    def start(self):
        for path in self.pids.parent.glob(f"{self.pids.name}.*"):
            path.unlink()
        with open(self.log, "w") as log:
            return subprocess.Popen([str(word) for word in self.command], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def finish(self):
        job = self.start()
        if job.wait(END) != 0:
            sys.exit(f"exit {job.returncode}\n{self.log.read_text()[-2000:]}")

    def last_step(self):
        try:
            lines = (self.folder / "metrics.jsonl").read_text().splitlines()
        except OSError:
            return 0
        return max((json.loads(line).get("step", 0) for line in lines if line.endswith("}")), default=0)

    def processes(self):
        """Those of the ranks that have started, by rank."""
        return {int(path.suffix[1:]): int(path.read_text() or 0) for path in self.pids.parent.glob(f"{self.pids.name}.*")}

    def is_saving(self):
        return any((self.folder / "checkpoints").glob(".part-step-*"))

    def files(self):
        return [(self.folder / name).read_bytes() for name in FILES]


def parsed(parser):
    """Returns BIN, WORK, and the words after each --."""
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    own, *rest = [list(group) for is_rule, group in itertools.groupby(sys.argv[1:], lambda word: word == "--") if not is_rule]
    arguments = parser.parse_args(own)
    arguments.places, arguments.training = rest
    arguments.work.mkdir(parents=True, exist_ok=True)
    return arguments


def wait_until(condition, pause=0.01):
    deadline = time.monotonic() + END
    while not condition():
        if time.monotonic() > deadline:
            sys.exit("a condition did not come")
        time.sleep(pause)


def kill_one(run, draw, while_saving):
    """Starts the run and kills a rank. Returns whether rank 0 was writing a checkpoint."""
    first = run.last_step()
    job = run.start()
    moment = first + draw.randint(1, SAVE_EVERY + 2)
    wait_until(lambda: run.last_step() >= moment or job.poll() is not None)
    if while_saving:
        wait_until(lambda: run.is_saving() or job.poll() is not None, pause=0)
    time.sleep(draw.uniform(0, 0.004 if while_saving else 0.1))
    saving = run.is_saving()
    processes = run.processes()
    os.kill(processes[draw.choice(sorted(processes))], signal.SIGKILL)
    code = job.wait(END)
    if code != 128 + signal.SIGKILL:
        sys.exit(f"exit {code}\n{run.log.read_text()[-2000:]}")
    wait_until(lambda: not any(pathlib.Path(f"/proc/{process}").exists() for process in processes.values()))
    return saving


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parsed(parser)
    begin = time.monotonic()
    steps = SAVE_EVERY * (3 * arguments.kills + 2)
    whole, killed = (Run(arguments, name, steps) for name in ("whole", "killed"))
    whole.finish()
    draw = random.Random(arguments.seed)
    saving = sum(kill_one(killed, draw, while_saving=number % 2 == 1) for number in range(arguments.kills))
    killed.finish()
    if "resuming from" not in killed.log.read_text():
        sys.exit("the last job did not resume")
    if killed.files() != whole.files():
        sys.exit("the killed run differs from the undisturbed one")
    if saving == 0:
        sys.exit("no rank was killed while a checkpoint was written")
    print(f"killed {arguments.kills} times, {saving} of them while a checkpoint was written; bit-equal to the undisturbed run "
          f"({time.monotonic() - begin:.0f} s)")


if __name__ == "__main__":
    main()
