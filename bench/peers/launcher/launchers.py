"""The launchers that are compared on this machine: how each starts so many ranks of its measuring program."""

import dataclasses
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
HERE = pathlib.Path(__file__).resolve().parent
PEERS = ROOT / ".deps" / "peers" / "launcher"


@dataclasses.dataclass(frozen=True)
class Launcher:
    key: str
    title: str
    start: object  # (ranks, what the program is to do, a word each) -> the command

    def missing(self):
        """Why it cannot be measured here; empty where it can."""
        note = PEERS / f"{self.key}.missing"
        return note.read_text().strip() if note.exists() else ""


def ours(build):
    programs = build / "bin"
    return Launcher("bprun", "bprun", lambda ranks, *what: [
        programs / "bprun", "-n", ranks, programs / "launcher_bench", *what])


def peers():
    python = ROOT / ".deps" / "peers" / "bin" / "python"
    return [
        Launcher("openmpi", "mpirun (Open MPI)", lambda ranks, *what: [
            "mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", ranks, PEERS / "openmpi", *what]),
        Launcher("mpich", "mpiexec.hydra (MPICH)", lambda ranks, *what: [
            "mpiexec.hydra", "-n", ranks, PEERS / "mpich", *what]),
        Launcher("torchrun", "torchrun", lambda ranks, *what: [
            python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks, HERE / "meet.py", *what]),
    ]
