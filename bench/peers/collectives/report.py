"""What bench/run_speed_comm writes: the machine, JSON, and the page docs/benchmarks.md, where bench/run_shards has a
section."""

import dataclasses
import json
import os
import pathlib
import platform
import re
import subprocess
import textwrap


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


INTRODUCTION = """# Benchmarks of the collectives

`bench/run_speed_comm --markdown docs/benchmarks.md` writes this page, and `bench/run_shards` its sections about shards;
do not edit it. Only ratios within one run say something: the same programs on another machine, or on another day of a
shared one, give other times.

The systems run in turns. A figure is the median of {runs} starts. The figure of a start is the median of 5 to 500 calls,
and that of a call is the time of the slowest rank between a barrier and its result. Inputs are whole numbers whose sums
are exact, and every result is compared with `==`. "Allocated" memory comes from `Communicator::allocate()`, as that of
gradients in bp::torch does. "Refilled" means that each rank writes its buffer again before every call, outside of the
measured time, as a training step does. "Huge pages" marks a system that is faster with
`GLIBC_TUNABLES=glibc.malloc.hugetlb=1`. A ratio in **bold** misses its target. bench/README.md describes the method and
the targets.
"""

OVERVIEW = """## Two ranks on one host

This is the commonest job. A cell has bp's time divided by that of the fastest other system, with allocated and with any
memory: below 1 bp is faster. The targets are 0.90 with allocated memory (0.50 for all_reduce of f32 from 64 KiB on) and
1.00 with any memory. The script ends with exit code 1 if one of them is missed.

{}
"""

# By the key of a check's cause: the heading, and why.
CAUSES = {
    "call": ("The time of a call", "bp compares what all ranks asked for and records each operation, which the other "
             "systems do not. The last table of this page has the time of both."),
    "cores": ("More ranks than cores", "A time includes waking the other ranks. Before its next collective a rank of bp "
              "waits until it sees what all others did in the last one, which a rank of an MPI does not."),
    "twice": ("Memory that bp has not allocated", "The ranks copy such memory twice, through a buffer that all of them "
              "map (docs/collectives.md)."),
    "copies": ("Large vectors", "The speed of memory decides."),
    "": ("Other targets", "These are not compared with other systems."),
}


def misses(sections):
    """The page's paragraphs about targets that are missed, by cause."""
    found = [check for checks in sections.values() for check in checks]
    missed = [check for check in found if check.passed is False]
    if not missed:
        return "## Missed targets\n\nAll targets that were measured are met.\n"
    parts = [f"## Missed targets\n\n{len(missed)} of {len(found)} targets are missed.\n"]
    for cause, (heading, reason) in CAUSES.items():
        rows = [f"| {check.what} | {check.measured} | {check.target} |" for check in missed if check.cause == cause]
        if rows:
            parts.append(f"### {heading}\n\n{textwrap.fill(reason, 120)}\n\n| what | measured | target |\n|---|---|---|\n" +
                         "\n".join(rows) + "\n")
    return "\n".join(parts)


def as_markdown(facts, overview, shown, sections):
    parts = [INTRODUCTION.format(runs=facts.runs)]
    if facts.quick:
        parts.append("**A quick run: a look, not figures to quote.**\n")
    if facts.busy > 0.05:
        parts.append(f"**The machine was busy ({facts.busy:.0%}) when the run began.**\n")
    parts.append("## Machine\n\n" + "\n".join(f"- {line}" for line in facts.machine) +
                 f"\n- {facts.day}, {facts.minutes:.0f} minutes; {facts.starts} starts, and {facts.repeated} more that were "
                 "repeated since a hypervisor took more than a hundredth of the processors' time\n")
    if overview:
        parts.append(OVERVIEW.format(overview))
    parts.append(misses(sections))
    titles = {"All-reduce": "All-reduce in place, sum, one host: microseconds",
              "Other collectives": "Other collectives, one host: microseconds"}
    for name, drawn in shown.items():
        parts.append(f"## {titles[name]}\n\n" + "\n\n".join(drawn) + "\n")
    for name, found in sections.items():
        # The tables above have the ratios to other systems.
        if own := [check for check in found if not check.cause]:
            parts.append(section(name, own))
    return "\n".join(parts)


def section(name, found, remarks=()):
    """A section of the page with the targets of one script. `remarks` come before them, a line each."""
    rows = [f"| {check.what} | {check.measured} | {check.target} | {check.verdict()} |\n" for check in found]
    before = "".join(f"- {remark}\n" for remark in remarks) + ("\n" if remarks else "")
    return f"## {name}: targets\n\n{before}| what | measured | target | |\n|---|---|---|---|\n" + "".join(rows)


def sections_of(page):
    """The page's sections, after what comes before the first."""
    return re.split(r"^(?=## )", page, flags=re.MULTILINE)


def with_section(page, new):
    """The page with `new` in place of its section of that heading, or at its end."""
    parts = [part.rstrip("\n") for part in sections_of(page)]
    headings = [part.splitlines()[:1] for part in parts]
    place = headings.index(new.splitlines()[:1]) if new.splitlines()[:1] in headings else len(parts)
    parts[place:place + 1] = [new.rstrip("\n")]
    return "\n\n".join(parts) + "\n"
