"""What bench/run_speed_comm writes: the machine, JSON, and the page docs/benchmarks.md."""

import dataclasses
import json
import os
import pathlib
import platform
import re
import subprocess


@dataclasses.dataclass
class Facts:
    machine: list
    busy: float
    quick: bool
    runs: int
    minutes: float
    day: str
    starts: int = 0
    repeated: int = 0
    pages: list = dataclasses.field(default_factory=list)  # names of the peers, with their pages


def machine(build):
    """Lines that say on what and with what was measured."""
    about = subprocess.run([build / "bin" / "comm_bench", "--max", "4", "--iterations", "1"],
                           capture_output=True, text=True, check=True).stdout
    lines = [line[2:] for line in about.splitlines() if line.startswith("#")]
    gibibytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    huge = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
    pages = huge.read_text().split("[")[1].split("]")[0] if huge.exists() else "unknown"
    return lines + [f"{gibibytes:.0f} GiB of memory, {last_cache()} of last-level cache, transparent huge pages: "
                    f"{pages}, {platform.platform()}",
                    f"vector instructions: {vector_instructions()}"]


def vector_instructions():
    known = pathlib.Path("/proc/cpuinfo").read_text()
    found = re.search(r"^(?:flags|Features)\s*:(.*)", known, re.MULTILINE)
    flags = found[1].split() if found else []
    return " ".join(name for name in ("avx2", "avx512bw", "avx512_bf16", "asimd", "sve") if name in flags) or "unknown"


def last_cache():
    sizes = sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"))
    return sizes[-1].read_text().strip() if sizes else "unknown size"


def as_json(facts, measured, sections):
    return json.dumps({**dataclasses.asdict(facts), "times": [row for results in measured for row in results.as_json()],
                       "checks": {name: [dataclasses.asdict(check) for check in found]
                                  for name, found in sections.items()}}, indent=1) + "\n"


INTRODUCTION = """# Benchmarks

Written by `bench/run_speed_comm --markdown docs/benchmarks.md`; do not edit. Only ratios within one run say
something: the same programs on another machine, or on another day of a shared one, give other times.

All systems were started by turns, so that what the machine did meanwhile hit them alike; a figure is the median of
{runs} starts, each the median of 5 to 500 calls, each the time of the slowest rank between a barrier and its result.
Inputs are whole numbers whose sums are exact, and every result was compared with `==`. "Refilled": each rank
writes its buffer anew before every call, outside the time, as a training step does. "Huge pages": the system is faster
with `GLIBC_TUNABLES=glibc.malloc.hugetlb=1` than without. The programs are in
`bench/peers/collectives`, one protocol for all (`protocol.h`, `gloo.py`, `comm_bench`); bench/README.md says more.
"""


def misses(sections):
    """The page's paragraph about targets that are missed."""
    missed = [f"- {check.what}: {check.measured}; the target is {check.target}." for found in sections.values()
              for check in found if check.passed is False]
    if not missed:
        return "## What misses its target\n\nAll targets that were measured are met.\n"
    return (f"## What misses its target\n\n{len(missed)} of the targets below are missed:\n\n" +
            "\n".join(missed) + "\n")


def as_markdown(facts, shown, sections):
    parts = [INTRODUCTION.format(runs=facts.runs)]
    if facts.quick:
        parts.append("**A quick run: a look, not figures to quote.**\n")
    if facts.busy > 0.05:
        parts.append(f"**The machine was busy ({facts.busy:.0%}) when the run began.**\n")
    parts.append("## Machine\n\n" + "\n".join(f"- {line}" for line in facts.machine) +
                 f"\n- {facts.day}, {facts.minutes:.0f} minutes; {facts.starts} starts, and {facts.repeated} more that were "
                 "repeated since a hypervisor took more than a hundredth of the processors' time\n")
    parts.append(misses(sections))
    titles = {"All-reduce": "All-reduce in place, sum, one host: microseconds",
              "Other collectives": "Other collectives, one host: microseconds"}
    for name, drawn in shown.items():
        parts.append(f"## {titles[name]}\n\n" + "\n\n".join(drawn) + "\n")
    for name, found in sections.items():
        rows = [f"| {check.what} | {check.measured} | {check.target} | {check.verdict()} |" for check in found]
        parts.append(f"## {name}: targets\n\n| what | measured | target | |\n|---|---|---|---|\n" +
                     "\n".join(rows) + "\n")
    return "\n".join(parts)
