#!/usr/bin/env python3
"""What docs/acceptance.md names must exist: tests as `Suite.Name`, then `Name` of the same suite; checks as
`scripts/acceptance NAME`; fuzz targets as `scripts/fuzz NAME`, then `NAME`."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
tests = set()
for source in (root / "tests").rglob("*.cc"):
    tests |= set(re.findall(r"^TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", source.read_text(), re.M))
checks = set(re.findall(r"^(\w+)\(\) *\{", (root / "scripts/acceptance").read_text(), re.M))
targets = set(re.findall(r"^bp_fuzz\((\w+)", (root / "tests/fuzz/CMakeLists.txt").read_text(), re.M))
named = 0
missing = []
for line in (root / "docs/acceptance.md").read_text().splitlines():
    suite, fuzzed = "", False
    for words in re.findall(r"`([^`]+)`", line if line.startswith("|") else ""):
        test = re.fullmatch(r"(?:([A-Z]\w*)\.)?([A-Z]\w+[a-z])", words)
        check = re.fullmatch(r"scripts/acceptance (\w+)", words)
        if test:
            suite = test[1] or suite
            named += 1
            if (suite, test[2]) not in tests:
                missing.append(f"{suite}.{test[2]}")
        elif check and check[1] not in checks:
            missing.append(words)
        target = re.fullmatch(r"(scripts/fuzz )?([a-z_]+)", words)
        fuzzed = fuzzed or bool(target and target[1])
        if target and fuzzed and target[2] not in targets:
            missing.append(f"scripts/fuzz {target[2]}")
print(f"{named} tests are named; missing: {', '.join(missing) or 'none'}")
sys.exit(bool(missing) or named == 0)
