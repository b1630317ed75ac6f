#!/usr/bin/env python3
"""Man pages of the programs that are built have every option of --help, and groff, where there is one, likes them."""
import pathlib
import re
import shutil
import subprocess
import sys

root, folder = map(pathlib.Path, sys.argv[1:])
COMMANDS = {"bprun": ["doctor", "gpus"], "bert_train": ["prep", "eval", "stop"], "comm_bench": []}
problems = []
for name, commands in COMMANDS.items():
    program = folder / name
    if not program.exists():
        print(f"{name} is not built")
        continue
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
sys.exit("\n".join(problems) or 0)
