"""The launchers that are compared on this machine: how each starts so many ranks of its measuring program."""

import dataclasses
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
HERE = pathlib.Path(__file__).resolve().parent
PEERS = ROOT / ".deps" / "peers" / "launcher"


HOSTS = "abcd"
# Says when the launcher was started and when it was gone, where something else had to be brought up first.
TIMED = 'date +"began %s.%N"; "$@"; code=$?; date +"gone %s.%N"; exit $code'


@dataclasses.dataclass(frozen=True)
class Launcher:
    key: str
    title: str
    start: object  # (ranks, what the program is to do, a word each) -> the command
    program: object = None  # the launcher itself, for those that take "-n RANKS PROGRAM" and no more

    def missing(self):
        """Why it cannot be measured here; empty where it can."""
        note = PEERS / f"{self.key}.missing"
        return note.read_text().strip() if note.exists() else ""


def ours(build):
    programs = build / "bin"
    return Launcher("bprun", "bprun", lambda ranks, *what: [
        programs / "bprun", "-n", ranks, programs / "launcher_bench", *what], programs / "bprun")


def peers():
    python = ROOT / ".deps" / "peers" / "bin" / "python"
    return [
        Launcher("openmpi", "mpirun (Open MPI)", lambda ranks, *what: [
            "mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", ranks, PEERS / "openmpi", *what]),
        Launcher("mpich", "mpiexec.hydra (MPICH)", lambda ranks, *what: [
            "mpiexec.hydra", "-n", ranks, PEERS / "mpich", *what], "mpiexec.hydra"),
        Launcher("torchrun", "torchrun", lambda ranks, *what: [
            python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks,
            HERE / "meet.py", "torch", *what]),
        Launcher("horovodrun", "horovodrun", lambda ranks, *what: [
            PEERS / "horovod" / "bin" / "horovodrun", "--gloo", "-np", ranks, PEERS / "horovod" / "bin" / "python",
            HERE / "meet.py", "horovod", *what]),
        # A Slurm that is brought up for it, and a program of MPICH, which Slurm starts by its pmi2.
        Launcher("srun", "srun -K", lambda ranks, *what: [
            ROOT / "tests" / "e2e" / "with_slurm", "bash", "-c", TIMED, "bash",
            "srun", "-K", "--mpi=pmi2", "-N1", "-n", ranks, PEERS / "mpich", *what]),
    ]


def on_hosts(build):
    """Ours and those that start ranks by ssh, the same number on each of HOSTS."""
    programs = build / "bin"

    def list_of(ranks):
        return ",".join(f"{host}:{ranks // len(HOSTS)}" for host in HOSTS)

    return [
        Launcher("bprun", "bprun", lambda ranks, *what: [
            programs / "bprun", "-H", list_of(ranks), programs / "launcher_bench", *what]),
        Launcher("openmpi", "mpirun (Open MPI)", lambda ranks, *what: [
            "mpirun.openmpi", "--allow-run-as-root", "-H", list_of(ranks), PEERS / "openmpi", *what]),
        Launcher("mpich", "mpiexec.hydra (MPICH)", lambda ranks, *what: [
            "mpiexec.hydra", "-hosts", list_of(ranks), "-n", ranks, PEERS / "mpich", *what]),
    ]
