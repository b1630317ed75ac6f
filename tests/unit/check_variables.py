#!/usr/bin/env python3
"""Compares the variables that the sources name with the table in base/options/variable_rows.cc:
check_variables.py ROOT. A variable without a row is missing in `bprun --help` and in docs/environment.md.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
TABLE = ROOT / "base/options/variable_rows.cc"
PAGE = (ROOT / "docs/environment.md").read_text(encoding="utf-8")

rows = set(re.findall(r'(?:VariableRow\{|^ +|, +)"([A-Z_]+_[A-Z_]+|RANK)"', TABLE.read_text(encoding="utf-8"), re.M))
named = set()
for folder in ("base", "bench/comm", "comm", "include", "launcher", "trainer"):
    for path in (ROOT / folder).rglob("*"):
        if path.suffix in (".cc", ".h") and path != TABLE:
            named |= set(re.findall(r'"(BP_[A-Z][A-Z_]*)=?"', path.read_text(encoding="utf-8")))

named -= {"BP_SWEEP_TRIAL", "BP_SWEEP_FOLDER"}  # for programs of others
wrong = [f"{TABLE.relative_to(ROOT)} has no row for {name}" for name in sorted(named - rows)]
wrong += [f"no source names {name}, which has a row" for name in sorted(rows - named) if name.startswith("BP_")]
wrong += [f"docs/environment.md does not name {name}" for name in sorted(rows) if f"`{name}" not in PAGE]
print("\n".join(wrong) or f"{len(rows)} variables, each with a row")
sys.exit(bool(wrong) or not named)
