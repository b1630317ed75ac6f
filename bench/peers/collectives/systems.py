"""The systems whose collectives are compared, and how each is started. Ours are two: on allocated memory
and on any. A Case is what one start measures."""

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[3]
HERE = pathlib.Path(__file__).resolve().parent
PEERS = ROOT / ".deps" / "peers" / "collectives"
START_LIMIT = 180  # seconds: some spin without yielding where ranks outnumber cores
MOST_STOLEN = 0.01  # of the processors' time during a start: what a hypervisor gave to others
HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


@dataclasses.dataclass(frozen=True)
class Case:
    ranks: int
    dtype: str
    touch: bool
    sizes: tuple
    seconds: float  # at most so long a size, but five calls
    op: str = "all_reduce"

    def options(self):
        return ["--op", self.op, "--dtype", self.dtype, "--sizes", ",".join(map(str, self.sizes)),
                "--seconds", str(self.seconds)] + (["--touch"] if self.touch else [])


class Failed(Exception):
    """A system that gave no result, and why."""


def processor_times():
    """Returns (stolen, all) of all processors, in ticks."""
    fields = [int(field) for field in pathlib.Path("/proc/stat").read_text().split()[1:9]]
    return fields[7], sum(fields)


@dataclasses.dataclass(frozen=True)
class System:
    key: str
    title: str
    types: tuple
    start: object  # (case) -> the command
    environment: dict = dataclasses.field(default_factory=dict)
    ours: bool = False
    operations: bool = False  # it is also measured with other collectives than all_reduce

    def missing(self):
        """Why it cannot be measured here; empty where it can."""
        note = PEERS / f"{self.key}.missing"
        return note.read_text().strip() if note.exists() else ""

    def measure(self, case):
        """Microseconds by size. Every result has been checked."""
        if self.ours:
            with tempfile.NamedTemporaryFile(mode="r", suffix=".json") as result:
                self.run(self.start(case) + ["--json", result.name])
                lines = result.read().splitlines()
        else:
            lines = [line for line in self.run(self.start(case)).splitlines() if line.startswith("{")]
        rows = [json.loads(line) for line in lines]
        wrong = sum(row["wrong"] for row in rows)
        if wrong:
            raise Failed(f"{wrong} elements were wrong")
        if len(rows) != len(case.sizes):
            raise Failed("it ended before all sizes were measured")
        return {size: row["median_us"] for size, row in zip(case.sizes, rows)}

    def measure_unstolen(self, case, tries=3):
        """(times, number of starts that count for nothing): repeats one of which a hypervisor took a part."""
        for repeated in range(tries):
            stolen, of = processor_times()
            times = self.measure(case)
            stolen_after, of_after = processor_times()
            if stolen_after - stolen <= MOST_STOLEN * (of_after - of):
                break
        return times, repeated

    def with_huge_pages(self):
        return dataclasses.replace(self, environment=self.environment | HUGE_PAGES, title=self.title + ", huge pages")

    def run(self, command):
        process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, start_new_session=True,
                                   env=os.environ | self.environment)
        try:
            output, complaint = process.communicate(timeout=START_LIMIT)
        except BaseException as stop:  # Ctrl-C too: it does not reach a session of its own
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            if isinstance(stop, subprocess.TimeoutExpired):
                raise Failed(f"not done after {START_LIMIT} s") from None
            raise
        if process.returncode != 0:
            last = (complaint.strip() or output.strip() or "no word").splitlines()[-1]
            raise Failed(f"exit code {process.returncode}: {last}")
        return output


def ours(build, memory, before=False):
    """Of this build, or of an older one that it is compared with."""
    programs = build / "bin"
    key, name = ("bp-before", "bp before") if before else ("bp", "bp")
    title = f"{name}, {'allocated' if memory == 'allocated' else 'any'} memory"
    return System(f"{key}-{memory}", title, ("f32", "f16", "bf16"), ours=True, operations=True, start=lambda case: [
        programs / "bprun", "-n", case.ranks, programs / "comm_bench", "--memory", memory, *case.options()])


def peers():
    binary = PEERS / "bin"
    impi = PEERS / "impi"
    return [
        System("impi", "Intel MPI 2021.19", ("f32", "f16", "bf16"), lambda case: [
            impi / "bin" / "mpiexec.hydra", "-n", case.ranks, binary / "impi", *case.options()],
            {"I_MPI_FABRICS": "shm", "I_MPI_ROOT": str(impi)}, operations=True),
        # "Oversubscribe": without it, it refuses more ranks than cores.
        System("openmpi", "Open MPI 4.1", ("f32", "f16", "bf16"), lambda case: [
            "mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", case.ranks,
            binary / "openmpi", *case.options()], operations=True),
        System("mpich", "MPICH 4.0", ("f32", "f16", "bf16"), lambda case: [
            "/usr/bin/mpiexec.hydra", "-n", case.ranks, binary / "mpich", *case.options()], operations=True),
        # With threads that work for it, which wait without yielding, it takes 8 ms on two cores.
        System("oneccl", "oneCCL 2022.2 over Intel MPI", ("f32", "f16", "bf16"), lambda case: [
            impi / "bin" / "mpiexec.hydra", "-n", case.ranks, binary / "oneccl",
            "--meeting", pathlib.Path(tempfile.gettempdir()) / f"bp_oneccl_{uuid.uuid4()}", *case.options()],
            {"CCL_ATL_TRANSPORT": "mpi", "CCL_MPI_LIBRARY_PATH": str(impi / "lib" / "libmpi.so.12"),
             "CCL_WORKER_OFFLOAD": "0", "CCL_LOG_LEVEL": "error", "I_MPI_FABRICS": "shm", "I_MPI_ROOT": str(impi)}),
        System("gloo", "c10d Gloo (torch 2.11)", ("f32", "f16", "bf16"), lambda case: [
            ROOT / ".deps" / "peers" / "bin" / "python", HERE / "gloo.py", "--ranks", case.ranks,
            *case.options()[2:]]),
    ]
