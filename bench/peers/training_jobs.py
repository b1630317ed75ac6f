"""Training as processes on one host or on two, whichever program trains, and what one run of it takes: time, memory and
bytes over the cable between the hosts. Rank 0 writes metrics.jsonl, a line for each step."""

import contextlib
import dataclasses
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from measuring import HERE, KEEPS_LARGE_BLOCKS, program, run
from namespace_hosts import ADDRESSES, CABLE
from train_compare import WARM_UP_SHARE, window_rates

MOST_SECONDS = 900
COUNTED_FROM = 3  # the step after which bytes over the cable count


@dataclasses.dataclass
class Job:
    folder: pathlib.Path  # of metrics.jsonl, and a word of each rank's command line
    name: str  # of a rank's program in /proc
    ranks: int
    commands: list  # words that start it
    environment: dict = dataclasses.field(default_factory=dict)  # of all commands
    own: list = dataclasses.field(default_factory=list)  # of each command, if not empty


@dataclasses.dataclass
class Taken:
    step: float  # seconds
    memory: float  # GiB: the proportional set size of all ranks after `memory_at` steps
    sent: float = 0  # bytes by the first host in a step


class OneHost:
    def __init__(self, ranks):
        self.ranks, self.title = ranks, f"{ranks} ranks on one host"

    def bprun(self, _folder):
        return [program("bprun"), "-n", self.ranks]

    def enter(self, _rank):
        return []

    address, interface = "127.0.0.1", "lo"

    def bytes_sent(self):
        return 0


class SingleRanks(OneHost):
    """Hosts of one rank each, which share no memory."""

    def __init__(self, hosts):
        super().__init__(len(hosts.inside))
        self.hosts = hosts

    def bprun(self, folder):
        return self.hosts.bprun(program("bprun"), folder, *[1] * self.ranks)


class Cable:
    """Two hosts with two ranks each."""
    ranks, title, address, interface = 4, "2 + 2 ranks at 1 Gbit/s", ADDRESSES[0], CABLE

    def __init__(self, hosts):
        self.hosts = hosts

    def bprun(self, folder):
        return self.hosts.bprun(program("bprun"), folder, 2, 2)

    def enter(self, rank):
        return self.hosts.enter(rank // 2)

    def bytes_sent(self):
        return self.hosts.bytes_sent(0)


def has_shard(name):
    """Whether bert_train has it."""
    return f"|{name}|" in run([program("bert_train"), "--help"])


def of_bp(place, folder, *words):
    target = folder / "run"
    return Job(target, "bert_train", place.ranks, [[*place.bprun(folder), program("bert_train"), *words, "--run", target]])


def of_torch(place, folder, *words):
    """sharded_loop.py."""
    with socket.create_server(("", 0)) as free:
        port = free.getsockname()[1]
    target = folder / "loop"
    environment = {"WORLD_SIZE": place.ranks, "MASTER_ADDR": place.address, "MASTER_PORT": port, "OMP_NUM_THREADS": 1,
                   "GLOO_SOCKET_IFNAME": place.interface, **KEEPS_LARGE_BLOCKS}
    ranks = range(place.ranks)
    return Job(target, pathlib.Path(sys.executable).name, place.ranks,
               [[*place.enter(rank), sys.executable, HERE / "sharded_loop.py", target, *words] for rank in ranks],
               environment, [{"RANK": rank} for rank in ranks])


def pss_of(job):
    """The proportional set size of all ranks, in GiB."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if not entry.name.isdigit() or (entry / "comm").read_text().strip() != job.name:
                continue
            if str(job.folder).encode() not in (entry / "cmdline").read_bytes().split(b"\0"):
                continue
            rollup = (entry / "smaps_rollup").read_text()
        except OSError:
            continue
        found.append(int(rollup.split("Pss:")[1].split()[0]))
    if len(found) != job.ranks:
        sys.exit(f"{len(found)} of {job.ranks} ranks were found in /proc")
    return sum(found) / 1024**2


@contextlib.contextmanager
def running(job):
    """The processes that start the job. Those that are left at the end are asked to end."""
    shutil.rmtree(job.folder, ignore_errors=True)
    with tempfile.TemporaryFile() as complaints, contextlib.ExitStack() as stack:
        processes = []
        for number, words in enumerate(job.commands):
            environment = job.environment | (job.own[number] if job.own else {})
            processes.append(stack.enter_context(subprocess.Popen(
                [str(word) for word in words], stdout=subprocess.DEVNULL, stderr=complaints,
                env=os.environ | {name: str(value) for name, value in environment.items()})))
        try:
            yield processes
        except BaseException:
            complaints.seek(0)
            sys.stderr.write(complaints.read().decode(errors="replace")[-3000:])
            raise
        finally:
            for process in processes:
                if process.poll() is None:
                    process.terminate()


def records_of(job):
    """Those of steps, without a line that is still being written."""
    metrics = job.folder / "metrics.jsonl"
    lines = metrics.read_text().splitlines(keepends=True) if metrics.exists() else []
    records = [json.loads(line) for line in lines if line.endswith("\n")]
    return [record for record in records if "split" not in record]


def await_step(job, processes, step):
    """Returns the number of steps done, which is at least `step`."""
    deadline = time.monotonic() + MOST_SECONDS
    while not (done := records_of(job)) or done[-1]["step"] < step:
        if any(process.poll() for process in processes) or time.monotonic() > deadline:
            sys.exit(f"{' '.join(map(str, job.commands[0]))}\ndid not reach step {step}")
        if all(process.poll() == 0 for process in processes) and records_of(job)[-1]["step"] < step:
            sys.exit(f"{' '.join(map(str, job.commands[0]))}\nended before step {step}")
        time.sleep(0.01)
    return done[-1]["step"]


def await_end(job, processes):
    if any(process.wait(MOST_SECONDS) for process in processes):
        sys.exit(f"{' '.join(map(str, job.commands[0]))}\nfailed")


def run_to_end(job):
    with running(job) as processes:
        await_end(job, processes)


def memory_at(job, step):
    """GiB of all ranks after a step. Ends the job there."""
    with running(job) as processes:
        await_step(job, processes, step)
        return pss_of(job)


def taken_by(job, place, steps, memory_step, window):
    """Runs the job, which makes `steps` steps, to its end."""
    with running(job) as processes:
        first, before = await_step(job, processes, COUNTED_FROM), place.bytes_sent()
        await_step(job, processes, memory_step)
        memory = pss_of(job)
        last, after = await_step(job, processes, steps - 1), place.bytes_sent()
        await_end(job, processes)
    records = records_of(job)
    rates = window_rates(records, window)
    rate = statistics.median(rates[int(len(rates) * WARM_UP_SHARE):])
    return Taken(step=records[-1]["samples"] / records[-1]["step"] / rate, memory=memory,
                 sent=(after - before) / (last - first) if last > first else 0)
