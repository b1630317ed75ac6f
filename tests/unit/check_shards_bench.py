#!/usr/bin/env python3
"""Checks how bench/run_shards judges what it measured, and that it reads what a run writes."""
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

PEERS = pathlib.Path(sys.argv.pop(1)) / "bench" / "peers"
sys.path[:0] = [str(PEERS), str(PEERS / "collectives")]

import shards_compare
import shards_peers
import training_jobs


def side(step, memory, of_tiny, sent=0):
    """Of three runs, of which two are outliers; 1,000 bytes of parameters."""
    runs = [training_jobs.Taken(step=step * factor, memory=memory * factor, sent=sent * factor) for factor in (0.1, 1, 9)]
    return shards_peers.Side(runs, of_tiny, 1000)


def verdicts(found):
    return [check.verdict() for check in found]


class Judging(unittest.TestCase):
    def judge(self, own, most_sent=None):
        return list(shards_peers.judge("x: ", own, side(step=0.1, memory=2, of_tiny=1, sent=2250), 0.5, most_sent))

    def test_all_pass_at_their_limits(self):
        self.assertEqual(verdicts(self.judge(side(step=0.05, memory=2, of_tiny=1, sent=1500), 1.5)), ["PASS"] * 4)

    def test_each_limit_fails_just_beyond(self):
        found = self.judge(side(step=0.0501, memory=2.01, of_tiny=0.99, sent=1501), 1.5)
        self.assertEqual(verdicts(found), ["FAIL"] * 4)
        self.assertEqual(found[0].measured, "50 / 100 ms = 0.50")
        self.assertEqual(found[3].measured, "1.50 / 2.25")

    def test_on_one_host_nothing_is_said_of_a_cable(self):
        self.assertEqual(len(self.judge(side(step=0.01, memory=1, of_tiny=1))), 3)

    def test_a_program_that_takes_little_does_not_hide_what_it_adds(self):
        found = self.judge(side(step=0.01, memory=1.5, of_tiny=0.1))
        self.assertEqual(verdicts(found), ["PASS", "PASS", "FAIL"])

    def test_a_kind_of_sharding_that_does_not_exist_is_skipped_by_name(self):
        peers = shards_peers.Peers.__new__(shards_peers.Peers)
        peers.options = unittest.mock.Mock(peer_model="m")
        found = {name: side(step=0.01, memory=3, of_tiny=2.5) for name in ("optimizer", "gradients")}
        found["fsdp2"] = side(step=0.1, memory=2, of_tiny=1)
        with unittest.mock.patch.object(shards_peers, "has_shard", lambda shard: shard != "parameters"), \
                unittest.mock.patch.object(peers, "measure", return_value=found) as measure:
            checks = list(peers.compare(training_jobs.OneHost(2), "one host"))
        measure.assert_called_once_with(unittest.mock.ANY, ["optimizer", "gradients"])
        self.assertEqual(verdicts(checks), ["PASS", "FAIL", "PASS"] * 2 + ["skipped"])
        self.assertIn("no --shard parameters", checks[-1].measured)

    def test_a_ratio_is_the_median_of_pairs(self):
        text, ratio = shards_compare.ratio_of([90, 200, 30, 44], [100, 100, 100, 40])
        self.assertEqual(ratio, 1.0)
        self.assertEqual(text, "1.000 [0.450 .. 1.775]; 67 / 100 samples/s")


class Reading(unittest.TestCase):
    def test_a_line_that_is_still_being_written_and_evaluations_do_not_count(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            job = training_jobs.Job(folder, "bert_train", 1, [["x"]])
            self.assertEqual(training_jobs.records_of(job), [])
            (folder / "metrics.jsonl").write_text('{"step":1}\n{"step":1,"split":"dev"}\n{"step":2}\n{"st')
            self.assertEqual([record["step"] for record in training_jobs.records_of(job)], [1, 2])

    def test_a_job_that_ends_early_ends_the_bench(self):
        with tempfile.TemporaryDirectory() as name:
            job = training_jobs.Job(pathlib.Path(name) / "run", "sh", 1, [["sh", "-c", "exit 3"]])
            with self.assertRaisesRegex(SystemExit, "did not reach step 1"), training_jobs.running(job) as processes:
                processes[0].wait()
                training_jobs.await_step(job, processes, 1)


unittest.main()
