#!/usr/bin/env python3
"""Checks how bench/run_speed_comm judges times by its targets, and that it shows missing measurements."""
import contextlib
import dataclasses
import io
import itertools
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(sys.argv.pop(1)) / "bench" / "peers" / "collectives"))

import checks
import report
import systems
import tables

SMALL, MIDDLE, LARGE, LARGEST = 4, 64 << 10, 64 << 20, 256 << 20
CASE = systems.Case(2, "f32", False, (SMALL, MIDDLE, LARGE, LARGEST), 0.1)
PEERS = {peer.key: peer for peer in systems.peers()}
OURS = {memory: systems.ours(pathlib.Path("build"), memory) for memory in ("allocated", "any")}


def results_of(allocated, any_memory, peer, gloo):
    results = tables.Results()
    for system, times in ((OURS["allocated"], allocated), (OURS["any"], any_memory), (PEERS["impi"], peer),
                          (PEERS["gloo"], gloo)):
        # The median decides, not a single outlier.
        for factor in (1, 50, 1):
            results.add(system, CASE, dict(zip(CASE.sizes, (time * factor for time in times))))
    return results


def verdicts(found):
    return [check.verdict() for check in found]


class Judging(unittest.TestCase):
    def test_all_pass_at_their_limits(self):
        results = results_of([0.9, 5, 20, 100], [1, 10, 100, 200], [1, 10, 100, 200], [9, 99, 100, 999])
        self.assertEqual(verdicts(tables.against_peers(results, CASE)), ["PASS"] * 9)

    def test_each_limit_fails_just_beyond(self):
        results = results_of([0.91, 5.1, 51, 101], [1.01, 10.1, 101, 201], [1, 10, 100, 200], [9, 99, 200, 999])
        self.assertEqual(verdicts(tables.against_peers(results, CASE)), ["FAIL"] * 9)

    def test_other_collectives_have_one_limit_for_all_sizes(self):
        case = dataclasses.replace(CASE, op="broadcast", sizes=(SMALL, LARGE))
        for allocated, verdict in ((0.9, "PASS"), (0.91, "FAIL")):
            results = tables.Results()
            for system, time in ((OURS["allocated"], allocated), (OURS["any"], 1), (PEERS["impi"], 1)):
                results.add(system, case, {size: time for size in case.sizes})
            self.assertEqual(verdicts(tables.against_peers(results, case)), [verdict, "PASS"] * 2)
        self.assertEqual(tables.title(case), "broadcast, 2 ranks, f32, buffers left as they are")

    def test_without_a_peer_nothing_is_claimed(self):
        results = tables.Results()
        results.add(OURS["allocated"], CASE, {size: 1 for size in CASE.sizes})
        self.assertEqual(verdicts(tables.against_peers(results, CASE)), ["skipped"] * 4)

    def test_memory_is_counted_once_read_and_once_written(self):
        # 2 ranks x (read + write) x 256 MiB at 40 GB/s: 26.8 ms.
        results = results_of([1, 1, 1, 33000], [1] * 4, [1] * 4, [1] * 4)
        self.assertEqual(verdicts(tables.against_memory(results, CASE, 40)), ["PASS"])
        results = results_of([1, 1, 1, 34000], [1] * 4, [1] * 4, [1] * 4)
        self.assertEqual(verdicts(tables.against_memory(results, CASE, 40)), ["FAIL"])

    def test_more_than_memory_allows_is_an_error_of_the_bench(self):
        results = results_of([1, 1, 1, 25600], [1] * 4, [1] * 4, [1] * 4)
        self.assertEqual(verdicts(tables.against_memory(results, CASE, 40)), ["PASS"])
        results = results_of([1, 1, 1, 25500], [1] * 4, [1] * 4, [1] * 4)
        found = tables.against_memory(results, CASE, 40)
        self.assertEqual(verdicts(found), ["FAIL"])
        self.assertIn("105% of what memory allows, which cannot be: the bench is wrong", found[0].measured)

    def test_halves_are_held_against_as_many_elements(self):
        half = systems.Case(2, "bf16", False, (32 << 20,), 0.1)
        for time, verdict in ((10, "PASS"), (10.1, "FAIL")):
            results = results_of([1, 1, 17, 1], [1, 1, 17, 1], [1] * 4, [1] * 4)
            for system in OURS.values():
                results.add(system, half, {32 << 20: time})
            self.assertEqual(verdicts(tables.halves_against_f32(results, half, CASE)), [verdict] * 2)


class Comparing(unittest.TestCase):
    def verdict(self, now, before):
        return checks.against_before("x", now, before, str).verdict()

    def test_a_build_is_slower_if_both_its_best_and_its_median_are(self):
        self.assertEqual(self.verdict([11, 22, 33], [10, 20, 30]), "PASS")
        self.assertEqual(self.verdict([12, 22, 33], [10, 20, 30]), "PASS")
        self.assertEqual(self.verdict([11, 23, 33], [10, 20, 30]), "PASS")
        self.assertEqual(self.verdict([12, 23, 33], [10, 20, 30]), "FAIL")


class Stealing(unittest.TestCase):
    def measure(self, stolen):
        """(times, repeated) of starts of which these ticks of a hundred were stolen."""
        ticks = [(0, 0)]
        for one in stolen:
            ticks += [ticks[-1], (ticks[-1][0] + one, ticks[-1][1] + 100)]
        system = dataclasses.replace(PEERS["impi"])
        with unittest.mock.patch.object(systems, "processor_times", side_effect=ticks[1:]), \
                unittest.mock.patch.object(systems.System, "measure", side_effect=itertools.count(1)):
            return system.measure_unstolen(CASE)

    def test_a_start_is_repeated_if_a_hypervisor_took_a_part_of_it(self):
        self.assertEqual(self.measure([1]), (1, 0))
        self.assertEqual(self.measure([2, 0]), (2, 1))
        self.assertEqual(self.measure([2, 2, 2]), (3, 2))


class Showing(unittest.TestCase):
    def test_a_system_that_is_missing_is_in_the_table_with_the_reason(self):
        results = results_of([1, 5, 20, 100], [1] * 4, [2, 10, 100, 200], [9] * 4)
        results.fail(PEERS["mpich"], CASE, "no such package")
        text = tables.table(results, [OURS["allocated"], PEERS["mpich"], PEERS["impi"]], CASE)
        self.assertIn("| MPICH 4.0 (no such package) | - | - | - | - |", text)
        self.assertIn("| Intel MPI 2021.19 | 2.00 | 10.00 | 100 | 200 |", text)
        self.assertIn("| *allocated / best peer* | 0.50 | **0.56** | **2.22** | **11.11** |", text)

    def test_the_overview_has_both_memories_and_marks_what_fails(self):
        half = dataclasses.replace(CASE, dtype="f16", touch=True, sizes=(SMALL, 16 << 20))
        results = results_of([1.9, 5, 20, 100], [1] * 4, [2, 10, 100, 200], [9] * 4)
        for system, time in ((OURS["allocated"], 0.5), (OURS["any"], 1.5), (PEERS["impi"], 1)):
            results.add(system, half, {SMALL: time})
        other = dataclasses.replace(CASE, ranks=4)
        self.assertEqual(tables.overview([(results, [CASE, half, other])], 2).splitlines()[2:],
                         ["| all_reduce, f32 | **0.95**; 0.50 | **0.56**; 0.11 |  | **2.22**; 0.11 | **11.11**; 0.11 |",
                          "| all_reduce, f16, refilled | 0.50; **1.50** |  | -; - |  |  |"])
        failed = [check.what for check in tables.against_peers(results, CASE) if check.passed is False and check.cause]
        self.assertEqual(len(failed), tables.overview([(results, [CASE])], 2).count("**") // 2)

    def test_misses_are_grouped_by_cause(self):
        results = results_of([1, 1, 1, 1], [2, 20, 1, 300], [1, 10, 100, 200], [9] * 4)
        four = dataclasses.replace(CASE, ranks=4, sizes=(SMALL,))
        for system, time in ((OURS["allocated"], 2), (OURS["any"], 2), (PEERS["impi"], 1)):
            results.add(system, four, {SMALL: time})
        text = report.misses({"All-reduce": tables.against_peers(results, CASE, 2) + tables.against_peers(results, four, 2)})
        titles = [line[4:] for line in text.splitlines() if line.startswith("### ")]
        self.assertEqual(titles, ["The time of a call", "More ranks than cores", "Memory that bp has not allocated",
                                  "Large vectors"])

    def test_each_miss_is_told_in_words(self):
        found = [checks.Check("a", "1 s", "at most 2 s", True), checks.Check("b", "9 s", "at most 2 s", False),
                 checks.Check("c", "no such program", "at most 2 s", None)]
        self.assertIn("1 of 3 targets are missed.\n\n### Other targets\n", report.misses({"Store": found}))
        self.assertIn("\n| what | measured | target |\n|---|---|---|\n| b | 9 s | at most 2 s |\n",
                      report.misses({"Store": found}))
        self.assertIn("All targets that were measured are met.", report.misses({"Store": found[:1] + found[2:]}))

    def test_a_script_has_a_section_of_its_own_on_the_page(self):
        page = "# All\n\nText.\n\n## Links: targets\n\na\n"
        first = report.section("Shards", [checks.Check("a", "1 s", "at most 2 s", True)], ["on this machine"])
        self.assertEqual(first, "## Shards: targets\n\n- on this machine\n\n| what | measured | target | |\n"
                                "|---|---|---|---|\n| a | 1 s | at most 2 s | PASS |\n")
        with_first = report.with_section(page, first)
        self.assertEqual(with_first, page + "\n" + first)
        second = report.section("Shards", [checks.Check("a", "3 s", "at most 2 s", False)])
        self.assertEqual(report.with_section(with_first, second), page + "\n" + second)
        links = report.section("Links", [])
        self.assertEqual(report.with_section(with_first, links), "# All\n\nText.\n\n" + links + "\n" + first)
        self.assertEqual(report.sections_of(with_first)[2], first)

    def test_checks_survive_their_file(self):
        found = [checks.Check("a", "1", "2", True), checks.Check("b", "why", "3", None)]
        with tempfile.NamedTemporaryFile() as file:
            self.assertEqual(checks.finish(found, file.name), 0)
            self.assertEqual(checks.read(file.name), found)


class Ending(unittest.TestCase):
    PASSED, MISSED = checks.Check("a", "1", "2", True), checks.Check("b", "9", "2", False)
    SKIPPED = checks.Check("c", "no such program", "2", None)

    def end(self, *found):
        """Returns the exit code and the last line."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = checks.finish(list(found))
        return code, printed.getvalue()

    def test_a_miss_is_told_apart_from_what_was_not_measured(self):
        self.assertEqual(self.end(self.PASSED, self.SKIPPED), (0, "2 targets, 0 missed, 1 not measured\n"))
        self.assertEqual(self.end(self.PASSED, self.MISSED, self.SKIPPED), (1, "3 targets, 1 missed, 1 not measured\n"))

    def test_nothing_measured_is_neither_a_pass_nor_a_miss(self):
        self.assertEqual(self.end(self.SKIPPED, self.SKIPPED), (77, "nothing was measured: no such program\n"))
        self.assertEqual(self.end(), (77, "nothing was measured: nothing was asked for\n"))


unittest.main()
