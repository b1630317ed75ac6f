#!/usr/bin/env python3
"""Compares what CTest lists from the sources (cmake/BpTestSuites.cmake) with the tests that the programs contain:
check_suites.py BUILD_FOLDER. A test that only a program knows would never run.
"""
import collections
import fnmatch
import json
import pathlib
import re
import subprocess
import sys
import tempfile


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def tests_in(program):
    # GoogleTest prints "Prefix/Suite/0.  # TypeParam = ..." for each suite, and its tests below it with two blanks.
    names, suite = set(), ""
    for line in output_of(program, "--gtest_list_tests").splitlines():
        if re.match(r"[\w/]+\.", line):
            suite = line.split()[0]
        elif line.startswith("  "):
            names.add(suite + line.split()[0])
    return names


def chosen_by(chosen, names):
    """Returns the names that a filter of GoogleTest chooses."""
    pattern = re.compile("|".join(map(fnmatch.translate, chosen.split(":"))))
    return set(filter(pattern.match, names))


def tests_of(build):
    # In a folder of its own, since ctest begins the log of its folder anew, which another ctest may be writing.
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "CTestTestfile.cmake").write_text(f'subdirs("{pathlib.Path(build).resolve()}")')
        return json.loads(output_of("ctest", "--test-dir", folder, "--show-only=json-v1"))["tests"]


def main():
    listed = collections.defaultdict(dict)
    for test in tests_of(sys.argv[1]):
        program, *arguments = test.get("command", [""])
        for argument in arguments:
            if argument.startswith("--gtest_filter="):
                listed[program][test["name"]] = argument.partition("=")[2]
    wrong = []
    for program, filters in listed.items():
        names = tests_in(program)
        run = {entry: chosen_by(chosen, names) for entry, chosen in filters.items()}
        wrong += [f"CTest does not run {name} of {program}" for name in sorted(names.difference(*run.values()))]
        wrong += [f"CTest lists {entry}, which {program} does not contain" for entry in run if not run[entry]]
    print("\n".join(wrong) or f"{sum(map(len, listed.values()))} suites in {len(listed)} programs")
    return bool(wrong) or not listed


sys.exit(main())
