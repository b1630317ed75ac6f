#!/usr/bin/env python3
"""Shows what check_includes.py finds and what it adds, in a small tree of its own."""

import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True

from check_includes import dead_headers, problems_of


def check(files, fix=False):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        found = problems_of(root, [pathlib.Path(name) for name in files], fix)
        return found, {name: (root / name).read_text(encoding="utf-8") for name in files}


def expect(files, *problems):
    found, _ = check(files)
    assert found == list(problems), f"{files} gave {found}"


expect({"base/a.h": "#pragma once\n#include <string>\nstd::string name(std::size_t length);\n"})
expect({"base/a.h": "#pragma once\nstd::string name();\n"}, "base/a.h uses std::string and does not include <string>")
# A header stands by itself; a source may lean on the headers that it includes.
expect({"base/a.h": "#pragma once\n#include <vector>\n", "base/b.h": '#include "base/a.h"\nstd::vector<int> all();\n'},
       "base/b.h uses std::vector and does not include <vector>")
expect({"base/a.h": "#pragma once\n#include <vector>\n", "base/a.cc": '#include "base/a.h"\nstd::vector<int> all;\n'})
expect({"base/a.h": "#pragma once\n", "base/a.cc": '#include "base/a.h"\nstd::vector<int> all;\n'},
       "base/a.cc uses std::vector and does not include <vector>")
# Names in comments and texts are not uses.
expect({"base/a.cc": '// std::vector\nconst char* text = "std::map"; /* std::set\n std::list */\n'})

FIXED = {
    "#pragma once\nstd::string name();\n": "#pragma once\n\n#include <string>\nstd::string name();\n",
    "#pragma once\n\n#include <span>\n#include <vector>\n\nstd::string name();\n":
        "#pragma once\n\n#include <span>\n#include <string>\n#include <vector>\n\nstd::string name();\n",
}
for before, after in FIXED.items():
    assert check({"base/a.h": before}, fix=True)[1]["base/a.h"] == after, check({"base/a.h": before}, fix=True)

with tempfile.TemporaryDirectory() as folder:
    tree = pathlib.Path(folder)
    for name, text in {"base/a.h": "", "base/dead.h": "", "include/bp/a.h": "", "bench/b.cc": '#include "base/a.h"\n'}.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text, encoding="utf-8")
    assert list(dead_headers(tree)) == ["base/dead.h is included by no file"]
