"""Tables of times, and what is asked of ours. Times are microseconds by (system, case)."""

import statistics

from checks import Check, against_before

KIB, MIB = 1 << 10, 1 << 20
LARGEST = 256 * MIB  # is compared with what memory allows
ALLOCATED, ANY, GLOO = "bp-allocated", "bp-any", "gloo"
MOST_OF_MEMORY = 1.05  # of what copies reach: above, they are not what memory allows
BEFORE = {ALLOCATED: "bp-before-allocated", ANY: "bp-before-any"}


def size_text(size):
    for unit, letter in ((MIB, "M"), (KIB, "K")):
        if size >= unit:
            return f"{size // unit}{letter}"
    return f"{size}B"


def time_text(microseconds):
    if microseconds >= 1000:
        return f"{microseconds:,.0f}"
    return f"{microseconds:.0f}" if microseconds >= 100 else f"{microseconds:.2f}"


def title(case):
    buffers = "refilled by their rank before every call" if case.touch else "left as they are"
    op = "" if case.op == "all_reduce" else f"{case.op}, "
    return f"{op}{case.ranks} ranks, {case.dtype}, buffers {buffers}"


class Results:
    """Collects the repetitions: medians, and who gave none and why."""

    def __init__(self):
        self.times = {}  # (system key, case) -> {size: [microseconds]}
        self.reasons = {}  # (system key, case) -> why there is none
        self.copies = {}  # case -> [GB/s]: what copies reached beside our starts, since it changes within minutes
        self.repetitions = 0
        self.starts = self.repeated = 0  # the second: since a hypervisor had taken a part of their time

    def add(self, system, case, row):
        sizes = self.times.setdefault((system.key, case), {})
        for size, time in row.items():
            sizes.setdefault(size, []).append(time)

    def fail(self, system, case, reason):
        self.reasons[system.key, case] = reason

    def median(self, key, case, size):
        times = self.times.get((key, case), {}).get(size)
        return statistics.median(times) if times else None

    def best_peer(self, case, size):
        """(microseconds, key) of the fastest peer, or None."""
        found = [(self.median(key, case, size), key) for key, of in self.times
                 if of == case and not key.startswith("bp-")]
        return min((pair for pair in found if pair[0] is not None), default=None)

    def as_json(self):
        return [{"system": key, "op": case.op, "ranks": case.ranks, "dtype": case.dtype, "touch": case.touch, "bytes": size,
                 "median_us": round(statistics.median(times), 3), "runs_us": times}
                for (key, case), sizes in self.times.items() for size, times in sizes.items()]


def limit(key, case, size):
    """What our time may be of the best peer's: with allocated memory nine tenths, and for all_reduce of f32 half from
    64 KB up; with any memory all of it."""
    if key == ANY:
        return 1.0
    return 0.5 if case.op == "all_reduce" and case.dtype == "f32" and size >= 64 * KIB else 0.9


def ratio(results, key, case, size):
    """Our time over the best peer's, bold where it misses its target."""
    best, mine = results.best_peer(case, size), results.median(key, case, size)
    if best is None or mine is None:
        return "-"
    text = f"{mine / best[0]:.2f}"
    return text if mine / best[0] <= limit(key, case, size) else f"**{text}**"


def overview(measured, ranks):
    """Markdown: all ratios of the cases with so many ranks, on allocated and on any memory. `measured` are pairs of
    results and their cases."""
    chosen = [(results, case) for results, cases in measured for case in cases if case.ranks == ranks]
    sizes = sorted({size for _, case in chosen for size in case.sizes})
    lines = ["| allocated; any memory | " + " | ".join(map(size_text, sizes)) + " |", "|---|" + "---:|" * len(sizes)]
    for results, case in chosen:
        cells = [f"{ratio(results, ALLOCATED, case, size)}; {ratio(results, ANY, case, size)}" if size in case.sizes else ""
                 for size in sizes]
        lines.append(f"| {case.op}, {case.dtype}{', refilled' if case.touch else ''} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def cause(case, size, key, cores):
    """Why a target may be missed, a key of report.CAUSES."""
    if size <= 4 * KIB:
        return "call" if case.ranks <= cores else "cores"
    return "twice" if key == ANY and size < MIB else "copies"


def table(results, systems, case):
    """Markdown: a row a system, ratios of ours to the best peer below."""
    lines = [f"| {title(case)} | " + " | ".join(map(size_text, case.sizes)) + " |",
             "|---|" + "---:|" * len(case.sizes)]
    for system in systems:
        times = [results.median(system.key, case, size) for size in case.sizes]
        reason = results.reasons.get((system.key, case))
        name = system.title + (f" ({reason})" if reason else "")
        lines.append(f"| {name} | " + " | ".join("-" if t is None else time_text(t) for t in times) + " |")
    for key, name in ((ALLOCATED, "allocated / best peer"), (ANY, "any / best peer")):
        lines.append(f"| *{name}* | " + " | ".join(ratio(results, key, case, size) for size in case.sizes) + " |")
    return "\n".join(lines)


def against_peers(results, case, cores=2):
    """What limit() allows, and for all_reduce of 64 MB of f32 a fifth of Gloo's time."""
    checks = []
    for size in case.sizes:
        best = results.best_peer(case, size)
        where = f"{title(case)}, {size_text(size)}"
        times = {key: results.median(key, case, size) for key in (ALLOCATED, ANY)}
        if best is None or None in times.values():
            checks.append(Check(where, "no peer or not ours", "the best peer"))
            continue
        bar, peer = best
        for key, name in ((ALLOCATED, "allocated"), (ANY, "any memory")):
            most = limit(key, case, size)
            checks.append(Check(f"{where}, {name}", f"{time_text(times[key])} us, {times[key] / bar:.2f} of {peer}'s",
                                f"at most {most:.2f}", times[key] / bar <= most, cause(case, size, key, cores)))
        gloo = results.median(GLOO, case, size)
        if case.op == "all_reduce" and case.dtype == "f32" and size == 64 * MIB and gloo is not None:
            checks.append(Check(f"{where}, allocated", f"{times[ALLOCATED] / gloo:.2f} of Gloo's",
                                "at most 0.20", times[ALLOCATED] <= gloo / 5))
    return checks


def against_older_build(results, case):
    """Nowhere slower than the build that ran by turns with this one."""
    checks = []
    for key, name in ((ALLOCATED, "allocated"), (ANY, "any memory")):
        now, before = (results.times.get((k, case), {}) for k in (key, BEFORE[key]))
        checks += [against_before(f"{title(case)}, {size_text(size)}, {name}", now[size], before[size],
                                  lambda time: f"{time_text(time)} us")
                   for size in case.sizes if size in now and size in before]
    return checks


def halves_against_f32(results, half, full):
    """16 Mi elements of a half in at most 1 / 1.7 of the time of as many f32."""
    checks = []
    for key, name in ((ALLOCATED, "allocated"), (ANY, "any memory")):
        short, long = results.median(key, half, 32 * MIB), results.median(key, full, 64 * MIB)
        if short is None or long is None:
            continue
        checks.append(Check(f"{title(half)}, 16 Mi elements, {name}", f"{long / short:.2f} times f32",
                            "at least 1.70", long / short >= 1.7))
    return checks


def against_memory(results, case, copy_gbps):
    """The bytes that must move: each rank's vector is read once and written once. What is clearly faster than the
    fastest copy shows that the copies are not a bound, and says nothing about bp: an error of the bench."""
    time = results.median(ALLOCATED, case, LARGEST)
    if time is None:
        return []
    least = 2 * case.ranks * LARGEST / copy_gbps / 1000
    share = least / time
    wrong = ", which cannot be: the bench is wrong" if share > MOST_OF_MEMORY else ""
    return [Check(f"{title(case)}, 256M, allocated",
                  f"{time_text(time)} us; {2 * case.ranks * 256} MiB at {copy_gbps:.1f} GB/s take "
                  f"{time_text(least)}: {share:.0%} of what memory allows{wrong}",
                  f"80 to {MOST_OF_MEMORY:.0%}", 0.8 <= share <= MOST_OF_MEMORY)]
