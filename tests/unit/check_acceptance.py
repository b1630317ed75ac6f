#!/usr/bin/env python3
"""Every test and check that docs/acceptance.md names must exist: `Suite.Name`, then `Name` of the same suite."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
tests = set()
for source in (root / "tests").rglob("*.cc"):
    tests |= set(re.findall(r"^TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", source.read_text(), re.M))
checks = set(re.findall(r"^(\w+)\(\) *\{", (root / "scripts/acceptance").read_text(), re.M))
named = 0
missing = []
for line in (root / "docs/acceptance.md").read_text().splitlines():
    suite = ""
    for words in re.findall(r"`([^`]+)`", line if line.startswith("|") else ""):
        test = re.fullmatch(r"(?:([A-Z]\w*)\.)?([A-Z][a-z]\w*[a-z])", words)
        check = re.fullmatch(r"scripts/acceptance (\w+)", words)
        if test:
            suite = test[1] or suite
            named += 1
            if (suite, test[2]) not in tests:
                missing.append(f"{suite}.{test[2]}")
        elif check and check[1] not in checks:
            missing.append(words)
print(f"{named} tests are named; missing: {', '.join(missing) or 'none'}")
sys.exit(bool(missing) or named == 0)
