#!/usr/bin/env python3
"""Checks that bench/run_train_compare distinguishes equal losses from different ones."""
import math
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(sys.argv.pop(1)) / "bench" / "peers"))

from same_losses import first_difference, largest_share


class SameLosses(unittest.TestCase):
    def test_equal_losses_and_those_at_the_tolerance_are_the_same(self):
        self.assertEqual(first_difference([0.5, 2.0], [0.5, 2.0], 0), "")
        self.assertEqual(first_difference([1.0, 4.0], [1.25, 5.0], 0.25), "")

    def test_the_first_step_beyond_the_tolerance_is_named(self):
        self.assertIn("step 2: loss 1.0000000 of bert_train, 1.2600000", first_difference([1, 1, 1], [1, 1.26, 9], 0.25))
        self.assertIn("step 1", first_difference([1.26], [1], 0.25))

    def test_what_is_no_number_is_a_difference(self):
        for bad in (math.nan, math.inf, -math.inf):
            self.assertIn("step 1", first_difference([bad], [1.0], 0.25))
            self.assertIn("step 1", first_difference([1.0], [bad], 0.25))
            self.assertIn("step 1", first_difference([bad], [bad], 0.25))

    def test_other_numbers_of_losses_are_a_difference_and_so_are_none(self):
        self.assertIn("1 losses, the loop 2", first_difference([1.0], [1.0, 1.0], 0.25))
        self.assertIn("0 losses, the loop 0", first_difference([], [], 0.25))

    def test_the_largest_share_is_of_the_smaller_loss(self):
        self.assertEqual(largest_share([1.0, 4.0], [1.0, 2.0]), 1.0)


unittest.main()
