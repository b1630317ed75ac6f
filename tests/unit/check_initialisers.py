#!/usr/bin/python3
"""Runs scripts/initialisers on a small tree: check_initialisers.py SOURCE_FOLDER"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = """#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
struct Range { int first = 0; long last = 0; };
struct Named { int number = 0; const char* name = ""; };
struct Owner {
  explicit Owner(int n) : own_{n, n} {}
  Range own_;
};
struct Step : Named { Named before; const char* name = ""; int index = 0; int count = 0; };
struct Text { std::string text; std::string_view hint; };
struct Limit { int least = 0; std::optional<int> most; };
int sum(Range range) { return range.first; }
int main(int argc, char**) {
  const Range right{.first = argc, .last = argc};
  const Named other{argc, ""};
  constexpr int kMost = 5;
  const Range table[] = {{1, 2}, {3, kMost}};
  const div_t quotient{argc, argc};
  const Step step{{}, {}, "", 1, argc};
  const Step named{{}, {}, "", argc};
  const Text text{other.name, step.name};
  const Limit limit{argc, named.index};
  return sum({argc, argc}) + right.first + other.number + table[0].first + quotient.rem + sum(Range{argc, 2});
}
"""
EXPECTED = {"main.cc:8": "{ n , n }", "main.cc:21": '{ { } , { } , "" , 1 , argc }',
            "main.cc:23": "{ other . name , step . name }", "main.cc:24": "{ argc , named . index }",
            "main.cc:25": "{ argc , argc }", "main.cc:25 ": "{ argc , 2 }"}


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
