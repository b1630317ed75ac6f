"""All-reduce of c10d's Gloo backend, by the protocol of protocol.h. `gloo.py --ranks N ...` starts itself
once a rank, each with one thread, as a training program with a process a core does."""

import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

PERIOD = 4093
FEWEST, MOST, BATCH = 5, 500, 5
VALUES = {"f32": 1000, "f16": 7, "bf16": 7}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, choices=[1, 2, 4], required=True)
    parser.add_argument("--dtype", choices=list(VALUES), default="f32")
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], required=True)
    parser.add_argument("--touch", action="store_true")
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--meeting", help=argparse.SUPPRESS)
    return parser.parse_args()


def element(dtype, rank, j):
    x = ((j + 1) * 2654435761 + rank * 40503) % 2**64
    return 1 + (x >> 8) % VALUES[dtype]


class Bench:
    def __init__(self, arguments):
        import torch  # not in the process that starts the ranks
        import torch.distributed as dist
        torch.set_num_threads(1)
        dist.init_process_group("gloo", init_method=f"file://{arguments.meeting}", rank=arguments.rank,
                                world_size=arguments.ranks, timeout=datetime.timedelta(minutes=2))
        self.torch, self.dist, self.arguments = torch, dist, arguments
        self.type = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[arguments.dtype]
        own = [element(arguments.dtype, arguments.rank, j) for j in range(PERIOD)]
        self.input = torch.tensor(own, dtype=self.type)
        self.sums = [sum(element(arguments.dtype, rank, j) for rank in range(arguments.ranks))
                     for j in range(PERIOD)]

    def run(self):
        for size in self.arguments.sizes:
            self.measure(size)
        self.dist.destroy_process_group()

    def measure(self, size):
        self.data = self.torch.empty(size // self.input.element_size(), dtype=self.type)
        wrong = self.batch(1, [])  # to warm up
        calls = 1 if self.arguments.touch else BATCH
        seconds, begin = [], time.perf_counter()
        while len(seconds) < FEWEST or (len(seconds) < MOST and self.largest(
                [time.perf_counter() - begin])[0] < self.arguments.seconds):
            wrong += self.batch(calls, seconds)
        *seconds, wrong = self.largest(seconds + [wrong])
        if self.arguments.rank == 0:
            print(json.dumps({"bytes": size, "median_us": round(statistics.median_low(seconds) * 1e6, 3),
                              "calls": len(seconds), "wrong": int(wrong)}), flush=True)

    def batch(self, calls, seconds):
        self.restore()
        if not self.arguments.touch:
            self.dist.all_reduce(self.data)
        for _ in range(calls):
            self.dist.barrier()
            begin = time.perf_counter()
            self.dist.all_reduce(self.data)
            seconds.append(time.perf_counter() - begin)
        self.dist.barrier()
        return self.wrong_after(calls if self.arguments.touch else calls + 1)

    def parts(self):
        """The buffer as rows of one period, and what is left."""
        whole = len(self.data) // PERIOD * PERIOD
        return self.data[:whole].view(-1, PERIOD), self.data[whole:]

    def restore(self):
        rows, rest = self.parts()
        rows.copy_(self.input.expand_as(rows))
        rest.copy_(self.input[:len(rest)])

    def wrong_after(self, calls):
        growth = self.arguments.ranks ** (calls - 1)
        right = self.torch.tensor([total * growth for total in self.sums], dtype=self.type)
        rows, rest = self.parts()
        return int((rows != right).sum()) + int((rest != right[:len(rest)]).sum())

    def largest(self, values):
        values = self.torch.tensor(values, dtype=self.torch.float64)
        self.dist.all_reduce(values, self.dist.ReduceOp.MAX)
        return values.tolist()


def start_ranks(arguments):
    # Lest every machine has a network: all talk over loopback.
    environment = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    with tempfile.TemporaryDirectory() as folder:
        ranks = [subprocess.Popen([sys.executable, *sys.argv, "--rank", str(rank), "--meeting",
                                   f"{folder}/meeting"], env=environment)
                 for rank in range(arguments.ranks)]
        return max(abs(rank.wait()) for rank in ranks)


def main():
    arguments = parse_arguments()
    if arguments.rank is None:
        sys.exit(start_ranks(arguments))
    Bench(arguments).run()


if __name__ == "__main__":
    main()
