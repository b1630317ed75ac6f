#!/usr/bin/env python3
"""Checks that a file's stem stands in one folder of the tree at ROOT only, so that a word has one meaning:
check_stems.py [ROOT].

The header and the sources of one thing share a stem. If the header is public (include/), its source stands in another
folder, and no other header has the stem. The public headers of bp and of bp::torch may share one (collective.h). Each
program has a main.cc.
"""

import collections
import pathlib
import sys

TOPS = ("include", "base", "comm", "launcher", "trainer")
SUFFIXES = (".h", ".cc", ".cu", ".cuh")


def problems_of(root):
    files_of = collections.defaultdict(set)
    for top in TOPS:
        for file in (root / top).rglob("*"):
            if file.suffix in SUFFIXES:
                files_of[file.stem].add(file.relative_to(root))
    found = []
    for stem, files in sorted(files_of.items()):
        own = {file for file in files if file.parts[0] != "include"}
        public = files - own
        same = public and any(file.suffix != ".cc" for file in own)
        if stem != "main" and (same or len({file.parent for file in own}) > 1):
            found.append(f"'{stem}' stands for several things: {', '.join(sorted(map(str, files)))}")
    return found


if __name__ == "__main__":
    problems = problems_of(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("\n".join(problems) or "each stem stands in one folder")
    sys.exit(1 if problems else 0)
