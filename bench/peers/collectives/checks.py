"""What a bench found against what it should: printed, written as JSON, shown in docs/benchmarks.md."""

import dataclasses
import json
import pathlib
import statistics

NOTHING_MEASURED = 77


@dataclasses.dataclass
class Check:
    what: str
    measured: str
    target: str
    passed: bool | None = None  # None: not measured; `measured` says why
    cause: str = ""  # why it may miss its target, a key of report.CAUSES

    def verdict(self):
        return "skipped" if self.passed is None else "PASS" if self.passed else "FAIL"

    def __str__(self):
        return f"{self.verdict():<8}{self.what}: {self.measured} (target: {self.target})"


SLOWER = 1.10  # times as long as the older build: less is noise


def against_before(what, now, before, show):
    """This build's figures over those of an older one, which ran by turns with it: the best and the median. If one of
    them is not slower, the build is not. The best compares how often a machine had its fast state, such as 27 ms
    instead of 39 for the same copies, and the median how often it had a slow one."""
    best, median = min(now) / min(before), statistics.median(now) / statistics.median(before)
    return Check(f"{what}, against the older build",
                 f"best {show(min(now))}, was {show(min(before))}: {best:.2f}; median {median:.2f}",
                 f"one of them at most {SLOWER:.2f}", min(best, median) <= SLOWER)


def finish(checks, json_file=None):
    """Writes them, and prints a last line about all. Returns the exit code: 1 where a target is missed, 77 where
    nothing was measured, else 0."""
    if json_file:
        pathlib.Path(json_file).write_text(json.dumps([dataclasses.asdict(check) for check in checks], indent=1))
    if all(check.passed is None for check in checks):
        reasons = dict.fromkeys(check.measured for check in checks)
        print(f"nothing was measured: {'; '.join(reasons) or 'nothing was asked for'}", flush=True)
        return NOTHING_MEASURED
    missed = sum(check.passed is False for check in checks)
    skipped = sum(check.passed is None for check in checks)
    print(f"{len(checks)} targets, {missed} missed, {skipped} not measured", flush=True)
    return 1 if missed else 0


def read(json_file):
    return [Check(**fields) for fields in json.loads(pathlib.Path(json_file).read_text())]
