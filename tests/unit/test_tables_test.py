#!/usr/bin/env python3
"""Checks that scripts/test_tables makes tables from the lines at tests, and that its --check fails on every other table:
test_tables_test.py ROOT. It runs in a small tree of its own."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

TESTS = {
    "unit/sum_test.cc": """// Sums.
// docs/acceptance.md, Sums: Sums of any length
// are exact.
#include "sum.h"

// Why this test exists.
// docs/acceptance.md, Sums: A sum may be empty.
// docs/features.md, Sums: Sums | `--sum`
TEST(Sum, MayBeEmpty) {
  // docs/acceptance.md is a page, and this is no line for it.
}

// docs/acceptance.md, Others: Typed tests count.
TYPED_TEST(Typed, Counts) {}
""",
    "e2e/sum_test.cc": "// docs/acceptance.md, Sums: A sum may be empty.\nTEST_F(Program, PrintsAnEmptySum) {}\n",
    "acceptance/runs.sh": "# docs/acceptance.md, Others: It runs.\nruns() {\n}\n",
    "CMakeLists.txt": "if(BP)\n  # docs/acceptance.md, Others: The check of this page runs.\n  add_test(NAME page COMMAND x)\nendif()\n",
}
SUMS = """| what holds | shown by |
|---|---|
| A sum may be empty. | [`Program.PrintsAnEmptySum`](../tests/e2e/sum_test.cc), [`Sum.MayBeEmpty`](../tests/unit/sum_test.cc) |
| Sums of any length are exact. | [`unit/sum_test.cc`](../tests/unit/sum_test.cc) |
"""
OTHERS = """| what holds | shown by |
|---|---|
| It runs. | [`scripts/acceptance runs`](../tests/acceptance/runs.sh) |
| The check of this page runs. | [`ctest -R page`](../tests/CMakeLists.txt) |
| Typed tests count. | [`Typed.Counts`](../tests/unit/sum_test.cc) |
"""
FEATURES = """| feature | here | shown by |
|---|---|---|
| Sums | `--sum` | [`Sum.MayBeEmpty`](../tests/unit/sum_test.cc) |
"""


def section(name, table=""):
    return f"<!-- tests: {name} -->\n{table and chr(10) + table + chr(10)}<!-- end of tests -->\n"


PAGE = f"# Page\n\n{section('Sums', SUMS)}\nText.\n\n{section('Others', OTHERS)}"


def run(mode, page=PAGE, tests=None):
    """Returns the exit code, the message, and the page of acceptance afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        pages = {"docs/acceptance.md": page, "docs/features.md": section("Sums", FEATURES)}
        for name, text in (pages | {f"tests/{name}": text for name, text in (tests or TESTS).items()}).items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        (root / "scripts").mkdir()
        shutil.copy(pathlib.Path(sys.argv[1]) / "scripts/test_tables", root / "scripts")
        done = subprocess.run([root / "scripts/test_tables", *mode], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr, (root / "docs/acceptance.md").read_text(encoding="utf-8")


def changed(before, after):
    return {name: text.replace(before, after) for name, text in TESTS.items()}


def expect_refusal(part, **given):
    code, message, _ = run(["--check"], **given)
    assert code == 1 and part in message, f"{code}: {message}"


code, printed, _ = run([])
assert code == 0 and SUMS in printed and OTHERS in printed and FEATURES in printed, printed
assert run(["--check"]) == (0, "", PAGE)
empty = f"# Page\n\n{section('Sums')}\nText.\n\n{section('Others')}"
assert run(["--write"], page=empty) == (0, "", PAGE)
expect_refusal("to make them again, run:", page=empty)
expect_refusal("to make them again, run:", tests=changed("MayBeEmpty", "CanBeEmpty"))  # another name
expect_refusal("to make them again, run:", tests=changed("A sum may", "A sum can"))  # other words
expect_refusal("to make them again, run:", tests=changed("// docs/acceptance.md, Others: Typed", "// Typed"))  # no line
expect_refusal("must have each of these sections once", tests=changed("Others: Typed", "Otters: Typed"))
expect_refusal("must have each of these sections once", page=section("Sums", SUMS))
expect_refusal("a row has 2 parts", tests=changed("Sums | `--sum`", "Sums"))
expect_refusal("no table of tests is in docs/faults.md", tests=changed("docs/features.md", "docs/faults.md"))
assert run(["--what"])[0] == 1
