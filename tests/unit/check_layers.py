#!/usr/bin/env python3
"""Compares the table docs/layers with the includes of the tree at ROOT: check_layers.py [ROOT]. Prints each include
that the table does not allow, each entry of the table that no include needs, and each cycle of folders."""

import graphlib
import pathlib
import re
import sys

SOURCES = ("include", "base", "comm", "launcher", "trainer")


def read_table(text):
    """Returns {folder: folders that it may include}. A line that begins with a blank continues the previous one."""
    lines = re.sub(r"\n[ \t]+", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)).splitlines()
    entries = [line.split(":") for line in lines if line.strip()]
    return {folder.strip(): set(allowed.split()) for folder, allowed in entries}


def includes_of(root):
    """Yields (file, included file, its folder, the other's folder) for every #include "..." that leaves its folder."""
    for top in SOURCES:
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in (".h", ".cc"):
                continue
            own = file.relative_to(root).parent
            for name in re.findall(r'^#include "([^"]+)"', file.read_text(encoding="utf-8"), re.MULTILINE):
                other = pathlib.PurePath("include" if name.startswith("bp/") else "") / name
                if other.parent != own and (root / other).exists():
                    yield file.relative_to(root), name, str(own), str(other.parent)


def problems_of(root):
    table = read_table((root / "docs" / "layers").read_text(encoding="utf-8"))
    found = []
    used = {folder: set() for folder in table}
    for file, name, own, other in includes_of(root):
        if other not in table.get(own, ()):
            found.append(f"{file} includes {name}: docs/layers does not let {own} include {other}")
        else:
            used[own].add(other)
    for folder, allowed in table.items():
        if not (root / folder).is_dir():
            found.append(f"docs/layers: there is no folder {folder}")
        found += [f"docs/layers: {folder} includes nothing of {other}" for other in sorted(allowed - used[folder])]
    try:
        graphlib.TopologicalSorter(table).prepare()
    except graphlib.CycleError as circle:
        found.append(f"docs/layers has a circle: {' -> '.join(circle.args[1])}")
    return found


if __name__ == "__main__":
    problems = problems_of(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("\n".join(problems) or "every include is one that docs/layers allows")
    sys.exit(1 if problems else 0)
