#!/usr/bin/python3
"""Runs scripts/initialisers on a small tree: check_initialisers.py SOURCE_FOLDER"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = """struct Range { int first = 0; long last = 0; };
struct Named { int number = 0; const char* name = ""; };
struct Owner {
  explicit Owner(int n) : own_{n, n} {}
  Range own_;
};
int sum(Range range) { return range.first; }
int main(int argc, char**) {
  const Range right{.first = argc, .last = argc};
  const Named other{argc, ""};
  const Range table[] = {{1, 2}, {3, 4}};
  return sum({argc, argc}) + right.first + other.number + table[0].first + sum(Range{argc, 2});
}
"""
EXPECTED = {"main.cc:4": "{ n , n }", "main.cc:12": "{ argc , argc }", "main.cc:12 ": "{ argc , 2 }"}


def main():
    try:
        from clang import cindex  # noqa: F401
    except ImportError:
        print("python3-clang-14 is not installed")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder).resolve()
        (tree / "scripts").mkdir()
        shutil.copy(pathlib.Path(sys.argv[1]) / "scripts/initialisers", tree / "scripts")
        (tree / "main.cc").write_text(SOURCE)
        command = {"file": str(tree / "main.cc"), "command": f"ccache g++ -std=c++20 -o main.o -c {tree}/main.cc"}
        (tree / "compile_commands.json").write_text(json.dumps([command]))
        ended = subprocess.run([tree / "scripts/initialisers", tree, "main.cc"], capture_output=True, text=True)
    lines = ended.stdout.splitlines()
    wrong = [text for place, text in EXPECTED.items()
             if not any(line.startswith(place.strip() + ":") and text in line for line in lines)]
    if wrong or len(lines) != len(EXPECTED) or ended.returncode != 1:
        print(f"exit code {ended.returncode}; not found: {wrong}\n{ended.stdout}{ended.stderr}")
        return 1
    return 0


sys.exit(main())
