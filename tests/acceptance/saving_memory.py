#!/usr/bin/env python3
"""Measures how much more memory rank 0 takes while it writes a checkpoint than between checkpoints. Exits with 1 if that
is too much.

saving_memory.py BIN WORK [--most MIB] -- BPRUN'S PLACES -- DATA OPTIONS OF BERT_TRAIN..."""

import argparse
import pathlib
import sys

from shard_kills import Run, parsed, wait_until


def peak_of_steps(run, job, first, last):
    """The most memory (MiB) that rank 0 has had at once between two steps."""
    wait_until(lambda: run.last_step() >= first or job.poll() is not None)
    process = pathlib.Path(f"/proc/{run.processes()[0]}")
    (process / "clear_refs").write_text("5")
    wait_until(lambda: run.last_step() >= last or job.poll() is not None)
    status = (process / "status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=float, default=64, help="MiB")
    arguments = parsed(parser)
    run = Run(arguments, "run", steps=30, save_every=10)
    job = run.start()
    try:
        between = peak_of_steps(run, job, first=12, last=17)
        saving = peak_of_steps(run, job, first=17, last=22)
    finally:
        job.terminate()
        job.wait()
    size = sum(file.stat().st_size for file in (run.folder / "checkpoints" / "step-20").iterdir()) / 1024 ** 2
    print(f"while rank 0 writes a checkpoint of {size:.0f} MiB it has {saving:.0f} MiB, between checkpoints {between:.0f}: "
          f"{saving - between:.0f} more ({arguments.most:.0f} or less)")
    sys.exit(saving - between > arguments.most)


if __name__ == "__main__":
    main()
