#!/usr/bin/env python3
"""Checks that scripts/option_tables makes tables from a help text, and that its --check fails on every other table:
option_tables_test.py ROOT. It runs in a small tree of its own, with a program that only prints a help text."""

import pathlib
import shutil
import subprocess
import sys
import tempfile

HELP = """Does something.
  prog DATA    an example
Usage: prog [OPTIONS] DATA

Positionals:
  DATA                    A file

Options:
  -q,--quiet              Print nothing

Data:
  --format auto|csv       Format of the file (default: auto)
  --run DIR               Folder of the run, which may be a very long line
                          that goes on here (default: runs/<name> (of DATA))

Other commands:
  prog stop RUN           end the run
"""
TABLES = r"""**Options**

| option | meaning | default |
|---|---|---|
| `-q, --quiet` | Print nothing |  |

**Data**

| option | meaning | default |
|---|---|---|
| `--format auto\|csv` | Format of the file | auto |
| `--run DIR` | Folder of the run, which may be a very long line that goes on here | runs/\<name> (of DATA) |
"""
PAGE = f"# prog\n\n<!-- options: prog -->\n\n{TABLES}\n<!-- end of options -->\n\nMore text.\n"


class Tree:
    """Makes a tree with the script, a program and its page."""

    def __init__(self, folder, page):
        self.root = pathlib.Path(folder)
        for name in ("scripts", "docs", "build/bin"):
            (self.root / name).mkdir(parents=True)
        shutil.copy(pathlib.Path(sys.argv[1]) / "scripts/option_tables", self.root / "scripts")
        self.page = self.root / "docs" / "page.md"
        self.page.write_text(page, encoding="utf-8")
        self.set_help(HELP)

    def set_help(self, text):
        program = self.root / "build/bin/prog"
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{text}END\n", encoding="utf-8")
        program.chmod(0o755)

    def run(self, *words):
        done = subprocess.run([self.root / "scripts/option_tables", *words], capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr


def check(page, help_text=HELP):
    """Returns the exit code of --check, its message, and the page after --write."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(folder, page)
        tree.set_help(help_text)
        code, _, message = tree.run("--check", "prog")
        assert tree.page.read_text(encoding="utf-8") == page, "--check changed the page"
        tree.run("--write", "prog")
        return code, message, tree.page.read_text(encoding="utf-8")


def expect_difference(page, help_text=HELP, expected=PAGE):
    code, message, written = check(page, help_text)
    assert code == 1 and "differ from prog --help" in message, f"{code}: {message}"
    assert message.rstrip().endswith("build/bin/prog") and "option_tables --write " in message, message
    assert written == expected, written


with tempfile.TemporaryDirectory() as temporary:
    small = Tree(temporary, PAGE)
    assert small.run("prog") == (0, TABLES, ""), small.run("prog")
    assert small.run(str(small.root / "build/bin/prog")) == (0, TABLES, "")
    assert small.run("gone")[0] == 1 and "is not a program" in small.run("gone")[2]
    assert small.run()[0] == 1 and small.run("--check")[0] == 1

assert check(PAGE) == (0, "", PAGE)
expect_difference(PAGE.replace("| auto |", "| csv |"))  # another default
expect_difference(PAGE.replace("| `-q, --quiet` | Print nothing |  |\n", ""))  # an option is missing
expect_difference(PAGE.replace("Format of the file", "Format"))  # another meaning
expect_difference("<!-- options: prog -->\n<!-- end of options -->\n",
                  expected=f"<!-- options: prog -->\n\n{TABLES}\n<!-- end of options -->\n")
expect_difference(PAGE, HELP.replace("Print nothing", "Print less"), PAGE.replace("Print nothing", "Print less"))
for broken in (PAGE.replace("<!-- options: prog -->", ""), PAGE.replace("<!-- end of options -->", ""), PAGE + PAGE):
    result = check(broken)
    assert result[0] == 1 and "one page in docs must have" in result[1] and result[2] == broken, result
assert "lists no options" in check(PAGE, "Usage: prog\n")[1]
