#!/usr/bin/env python3
"""Compares the suites that CTest lists from the sources (cmake/BpTestSuites.cmake) with those that the test programs
contain: check_suites.py BUILD_FOLDER. A suite that only a program knows would never run.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def suites_in(program):
    """Returns the words of the name of each suite: {"Prefix", "Suite", "0"} for Prefix/Suite/0."""
    # GoogleTest prints "Prefix/Suite/0.  # TypeParam = ..." for each suite, and its tests below it with two blanks.
    lines = output_of(program, "--gtest_list_tests").splitlines()
    return [set(line.split(".")[0].split("/")) for line in lines if re.match(r"[\w/]+\.", line)]


def tests_of(build):
    # In a folder of its own, since ctest begins the log of its folder anew, which another ctest may be writing.
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "CTestTestfile.cmake").write_text(f'subdirs("{pathlib.Path(build).resolve()}")')
        return json.loads(output_of("ctest", "--test-dir", folder, "--show-only=json-v1"))["tests"]


def main():
    listed = collections.defaultdict(set)
    for test in tests_of(sys.argv[1]):
        program, *arguments = test.get("command", [""])
        for argument in arguments:
            if argument.startswith("--gtest_filter="):
                listed[program].add(re.match(r"--gtest_filter=(\w+)", argument)[1])
    wrong = []
    for program, suites in listed.items():
        contained = suites_in(program)
        wrong += [f"CTest does not run {'/'.join(words)} of {program}" for words in contained if not words & suites]
        wrong += [f"CTest runs {suite}, which {program} does not contain"
                  for suite in sorted(suites - set().union(*contained))]
    print("\n".join(wrong) or f"{sum(map(len, listed.values()))} suites in {len(listed)} programs")
    return bool(wrong) or not listed


sys.exit(main())
