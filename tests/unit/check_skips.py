#!/usr/bin/env python3
"""Compares the reasons for which tests skip themselves with scripts/known-skips: check_skips.py ROOT

A reason that scripts/known-skips does not list fails scripts/test, but only on a machine that lacks what the test
needs. This check finds it on every machine. It prints each text of a skip that is not listed, and each listed text that
no test prints, and exits with 1 if there is one.
"""
import pathlib
import re
import sys
import tempfile

KNOWN = "scripts/known-skips"
# GTEST_SKIP() << "reason", skip "reason" and echo "reason"; exit 77
SKIPS = re.compile(r'(?:GTEST_SKIP\(\)\s*<<\s*|\bskip |\becho )"((?:[^"\\]|\\.)*)"(?=(.{0,12}))')


def skips_of(text):
    for match in SKIPS.finditer(text):
        if not match[0].startswith("echo") or match[2].startswith("; exit 77"):
            yield match[1]


def problems_of(root):
    lines = (root / KNOWN).read_text(encoding="utf-8").splitlines()
    known = [line.split(maxsplit=1)[1] for line in lines if line and not line.startswith("#")]
    texts = {}
    for path in sorted((root / "tests").rglob("*")):
        if path.is_file() and path.name not in ("check_skips.py", "check_test_scripts") and "fuzz" not in path.parts:
            texts[path.relative_to(root)] = path.read_text(encoding="utf-8", errors="replace")
    problems = [f'{path}: {KNOWN} does not list "{reason}"' for path, text in texts.items() for reason in skips_of(text)
                if not any(part in reason for part in known)]
    return problems + [f'{KNOWN}: no test prints "{part}"' for part in known
                       if not any(part in text for text in texts.values())]


def check_itself():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "scripts").mkdir()
        (root / "tests").mkdir()
        (root / KNOWN).write_text("# the moon\nmoon  the moon is full\nsun  no sun\n", encoding="utf-8")
        (root / "tests/a.cc").write_text('GTEST_SKIP() << "the moon is full now"; GTEST_SKIP()\n << "rain";',
                                         encoding="utf-8")
        (root / "tests/b").write_text('skip "snow"\necho "hail"; exit 77\necho "a breeze"\n', encoding="utf-8")
        assert problems_of(root) == [f'tests/a.cc: {KNOWN} does not list "rain"',
                                     f'tests/b: {KNOWN} does not list "snow"', f'tests/b: {KNOWN} does not list "hail"',
                                     f'{KNOWN}: no test prints "no sun"'], problems_of(root)


check_itself()
problems = problems_of(pathlib.Path(sys.argv[1]))
print("\n".join(problems) or "every reason to skip a test is listed")
sys.exit(bool(problems))
