"""What bench/launcher_bench.cc does by "barrier" and "victim", by torch.distributed over Gloo."""

import os
import signal
import sys
import time

import torch.distributed as dist


def print_time(what):
    print(f"{what} {time.time():.6f}", flush=True)


with_victim = sys.argv[1] == "victim"
dist.init_process_group("gloo")
dist.barrier()
if dist.get_rank() == 0:
    print_time("barrier")
if with_victim and dist.get_rank() == 1:
    print_time("killed")
    os.kill(os.getpid(), signal.SIGKILL)
while with_victim:
    signal.pause()
dist.destroy_process_group()
