#!/usr/bin/env python3
"""Checks the links of the Markdown pages: check_links.py SOURCE_FOLDER

Each relative link must lead to a file of the repository, and its anchor to a heading of that page, as GitHub names it.
Each `docs/NAME.md` in a page, a source or a script must be a page, and docs/README.md must list each. Prints what is not
so, and then exits with 1.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(sys.argv[1])
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
PAGE = re.compile(r"\bdocs/[a-z][\w-]*\.md\b")


def anchors(page):
    """The names of the headings: lower case, blanks as hyphens, without other marks."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    names = []
    for heading in re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE):
        name = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        names.append(name if name not in names else f"{name}-{names.count(name)}")
    return names


def problems_of(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        if not file.exists():
            yield f"{target} leads to no file"
        elif anchor and anchor not in anchors(file):
            yield f"{target} leads to no heading of {file.relative_to(ROOT)}"


listed = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=False).stdout.split("\n")
files = [ROOT / name for name in listed if name] or [file for file in ROOT.rglob("*.md") if ".deps" not in file.parts]
index = LINK.findall((ROOT / "docs/README.md").read_text(encoding="utf-8"))
problems = [f"docs/README.md does not list {page.name}" for page in sorted((ROOT / "docs").glob("*.md"))
            if page.name not in (*index, "README.md")]
for file in files:
    name = file.relative_to(ROOT)
    if file.suffix == ".md":
        problems += [f"{name}: {problem}" for problem in problems_of(file)]
    if file.suffix in (".md", ".h", ".cc", ".cu", ".py", ".txt", ".cmake", ""):
        try:
            text = file.read_text(encoding="utf-8")
        except (UnicodeDecodeError, IsADirectoryError, FileNotFoundError):
            continue
        problems += [f"{name}: {page} is not a page" for page in PAGE.findall(text) if not (ROOT / page).exists()]
print("\n".join(problems) or f"{len(files)} files: each link leads somewhere")
sys.exit(1 if problems else 0)
