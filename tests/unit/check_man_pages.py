#!/usr/bin/env python3
"""Checks that man pages have every option of --help and that groff accepts them.

check_man_pages.py SOURCE BIN PROGRAM...

Exits with 77 if groff is not installed.
"""
import pathlib
import re
import shutil
import subprocess
import sys

root, folder = map(pathlib.Path, sys.argv[1:3])
COMMANDS = {"bprun": ["doctor", "gpus"], "bprun-sweep": ["status", "best"],
            "bert_train": ["prep", "eval", "stop"], "comm_bench": []}
problems = []
for name in sys.argv[3:]:
    program, commands = folder / name, COMMANDS[name]
    page = subprocess.run([root / "scripts/man", program, *commands], check=True, capture_output=True, text=True).stdout
    for words in [[], *([command] for command in commands)]:
        text = subprocess.run([program, *words, "--help"], check=True, capture_output=True, text=True).stdout
        options = re.findall(r"^  (-\S+)", text, re.M)
        problems += [f"{name} {words}: no options in --help"] if len(options) < 2 else []
        problems += [f"{name} {words}: {option} is missing" for option in options
                     if f".B {option}".replace("-", "\\-") not in page]
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z"], input=page, capture_output=True, text=True)
        problems += [f"{name}: {line}" for line in done.stderr.splitlines()]
    print(f"{name}: {page.count('.TP')} entries")
if problems:
    sys.exit("\n".join(problems))
if not shutil.which("groff"):
    print("groff is not installed")
    sys.exit(77)
