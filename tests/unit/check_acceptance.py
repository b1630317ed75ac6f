#!/usr/bin/env python3
"""Checks that everything docs/acceptance.md and docs/features.md name exists: check_acceptance.py SOURCE_FOLDER

- tests as `Suite.Name`, then `Name` of the same suite in the same row; a `*` stands for any letters;
- the file after a test, as "(unit: store_test.cc)", which must define the last test before it;
- checks as `scripts/acceptance NAME`; fuzz targets as `scripts/fuzz NAME`, then `NAME`;
- names of CTest with a `*`.
Each id must appear in one row only.
"""
import collections
import fnmatch
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
files_of = collections.defaultdict(set)  # by the test's "Suite.Name"
for source in (root / "tests").rglob("*.cc"):
    for suite, name in re.findall(r"^(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", source.read_text(), re.M):
        files_of[f"{suite}.{name}"].add(source.relative_to(root / "tests").as_posix())
areas = "".join(path.read_text() for path in (root / "tests/acceptance").glob("*.sh"))
checks = set(re.findall(r"^(\w+)\(\) *\{", areas, re.M))
targets = set(re.findall(r"^bp_fuzz\((\w+)", (root / "tests/fuzz/CMakeLists.txt").read_text(), re.M))
ctest = "".join(path.read_text() for path in [*(root / "tests").rglob("CMakeLists.txt"), *root.glob("*/CMakeLists.txt")])

named, problems, ids = 0, [], collections.Counter()
lines = [line for page in ("acceptance", "features") for line in (root / f"docs/{page}.md").read_text().splitlines()]
for line in lines:
    if not line.startswith("|"):
        continue
    ids.update(re.findall(r"\b[A-Z]{2}-\d+\b", line.split("|")[1]))
    suite, last, fuzzed = "", set(), False
    for words, file in re.findall(r"`([^`]+)`|\(((?:unit|ranks|e2e|hosts): [\w/]+\.cc)\)", line):
        test = re.fullmatch(r"(?:([A-Z]\w*)\.)?([A-Z][\w*]*|\*)", words)
        if file:
            path = file.replace(": ", "/")
            if not (root / "tests" / path).exists():
                problems.append(f"tests/{path} does not exist")
            elif last and not any(path in files_of[one] for one in last):
                problems.append(f"tests/{path} does not define {sorted(last)[0]}")
        elif test and (test[1] or suite) and re.search("[a-z*]", test[2]):
            suite = test[1] or suite
            named += 1
            last = set(fnmatch.filter(list(files_of), f"{suite}.{test[2]}"))
            if not last:
                problems.append(f"{suite}.{test[2]} does not exist")
        elif check := re.fullmatch(r"scripts/acceptance (\w+)", words):
            if check[1] not in checks:
                problems.append(f"{words} does not exist")
        elif target := re.fullmatch(r"(scripts/fuzz )?([a-z_\d]+)", words):
            fuzzed = fuzzed or bool(target[1])
            if fuzzed and target[2] not in targets:
                problems.append(f"scripts/fuzz {target[2]} does not exist")
        elif re.fullmatch(r"[a-z_\d]+\*", words) and words[:-1] not in ctest:
            problems.append(f"no test of CTest is called {words}")
problems += [f"the id {one} stands in {count} rows" for one, count in ids.items() if count > 1]
print(f"{named} tests are named; {'; '.join(problems) or 'all exist'}")
sys.exit(bool(problems) or named == 0)
