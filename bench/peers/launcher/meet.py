"""What bench/launcher_bench.cc does by "barrier" and "victim", by torch.distributed or Horovod, both over Gloo:
meet.py torch|horovod barrier|victim."""

import os
import signal
import sys
import time


def print_time(what):
    print(f"{what} {time.time():.6f}", flush=True)


library, what = sys.argv[1:3]
if library == "horovod":
    import horovod.torch as hvd
    hvd.init()
    barrier, rank, leave = hvd.barrier, hvd.rank(), hvd.shutdown
else:
    import torch.distributed as dist
    dist.init_process_group("gloo")
    barrier, rank, leave = dist.barrier, dist.get_rank(), dist.destroy_process_group

barrier()
if rank == 0:
    print_time("barrier")
if what == "victim":
    if rank == 1:
        print_time("killed")
        os.kill(os.getpid(), signal.SIGKILL)
    while True:
        barrier()
leave()
