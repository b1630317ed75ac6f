"""What the comparisons share: running, and telling medians with their spread."""

import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent

# The settings of malloc that bert_train gives itself, for a program that does not: else it maps the memory of each
# large tensor anew in every step.
KEEPS_LARGE_BLOCKS = {"GLIBC_TUNABLES": "glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=1073741824"}

# Runs the rest of its arguments and leaves the highest resident memory (KiB) in a file a rank.
PEAK = """
import os, sys
pid = os.spawnvp(os.P_NOWAIT, sys.argv[2], sys.argv[2:])
_, status, usage = os.wait4(pid, 0)
open(sys.argv[1] + os.environ.get("RANK", "0"), "w").write(str(usage.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status))
"""


def run(command, **options):
    """Standard output of a program; ends the comparison with its complaint when it fails."""
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                            check=False, **options)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nfailed with {result.returncode}:\n"
                 f"{result.stdout[-1000:]}{result.stderr[-2000:]}")
    return result.stdout


def run_json(command, **options):
    return json.loads(run(command, **options).strip().splitlines()[-1])


def end_unmeasured(why):
    """Ends a comparison that measured nothing: neither a pass nor a miss."""
    print(f"nothing was measured: {why}")
    sys.exit(77)


def program(name):
    path = ROOT / "build" / "bin" / name
    if not path.exists():
        sys.exit(f"{path} is not there: build it with scripts/build")
    return path


def spread(values, digits=1):
    """"123.4 [120.1 .. 125.0]": the median, the lowest and the highest."""
    return (f"{statistics.median(values):.{digits}f} "
            f"[{min(values):.{digits}f} .. {max(values):.{digits}f}]")


def has_bf16():
    """Whether this processor has instructions for bf16."""
    return re.search(r"^flags\s*:.*\bavx512_bf16\b", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE) is not None


def busy_share(seconds=1.0):
    """Of all processors' time. (The load average would still tell of what ended minutes ago.)"""
    def times():
        fields = [int(field) for field in pathlib.Path("/proc/stat").read_text().split()[1:9]]
        return sum(fields), fields[3] + fields[4]  # idle, waiting for a disk
    all_before, idle_before = times()
    time.sleep(seconds)
    all_after, idle_after = times()
    return 1 - (idle_after - idle_before) / max(1, all_after - all_before)


def print_machine():
    """Prints what this machine is, and returns that."""
    model = "unknown processor"
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":")[1].strip()
            break
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"],
                            capture_output=True, text=True, check=False).stdout.strip()
    cores = len(os.sched_getaffinity(0))
    machine = [f"commit {commit or 'unknown'}, {cores} cores of {model}, Linux {platform.release()}"]
    # What runs before we have started anything is what disturbs.
    busy = busy_share()
    if busy > 0.1:
        machine.append(f"warning: this machine is busy ({busy:.0%}); the figures are worth little")
    print("\n".join(machine))
    return machine
