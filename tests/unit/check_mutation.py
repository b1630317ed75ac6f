#!/usr/bin/env python3
"""Applies the rules of scripts/mutate to lines of code: check_mutation.py SOURCE_FOLDER

The generator comes from PyPI, so this test does not use it. It checks the filter of the generated mutants, the list of
equivalent mutants, the sampling and the count.
"""
import contextlib
import importlib.machinery
import importlib.util
import io
import pathlib
import sys
import tempfile
import types

root = pathlib.Path(sys.argv[1])
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("mutate", str(root / "scripts/mutate"))
mutate = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutate", loader))
loader.exec_module(mutate)
import build  # noqa: E402  found through scripts/mutate
import mutants  # noqa: E402
import trial  # noqa: E402

problems = []


def expect(got, wanted, what):
    if got != wanted:
        problems.append(f"{what}: {got!r}, not {wanted!r}")


KNOWN = {"a", "b", "x", "f", "std", "vector", "int", "return", "is", "for", "i", "if"}
for old, new, wanted in [
        ("if (a < b) f();", "if (a <= b) f();", True),
        ("return a + 1;", "return a - 1;", True),
        ("return a + 1;", "return a + (1+1);", True),
        ("x = -1;", "x = 1;", True),
        ("return !a;", "return a;", True),
        ("if (a) f();", "if (!(a)) f();", True),
        ("std::vector<int> x;", "std::vector>int> x;", False),
        ("int& x = a;", "int| x = a;", False),
        ("return a->x;", "return a+>x;", False),
        ("return a <= b;", "return a === b;", False),
        ("int x1 = a;", "int x0 = a;", False),
        ("return 0;", "return (0+1);", False),  # 1 is generated too
        ("if (a && f(b)) x();", "if (a && (1==1);", False),  # parentheses
        ("f(begin_);", "f(end_);", False)]:  # no such word exists in the file
    expect(mutants.means_something(old, new, KNOWN | {"begin_"}), wanted, f"{old} ==> {new}")

expect(mutants.without_statement("  f(a);", "x = 1;"), ";", "a statement")
expect(mutants.without_statement("  b);", "f(a,"), None, "the second line of a statement")
expect(mutants.without_statement("  int x = f(a);", "{"), None, "a declaration")
expect(mutants.without_statement("  return f(a);", "{"), None, "a return with a value")
lines = ["#include <x>", "// text", "void f(int a) {", "  BP_CHECK(a > 0 &&", "           a < 9, \"bug\");",
         "  g(a + 1);", "}"]
expect([number for number, _, _ in mutants.outside_checks(lines)], [3, 6], "lines that are mutated")

changed = mutants.Mutant("x.cc", 2, "b + c;", "b - c;").apply("a;\n  b + c;\n d;\n")
expect(changed, "a;\n  b - c;\n d;\n", "a mutant's text")

with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "equivalent"
    path.write_text("# why\n\nx.cc: both give 0\n- a\n+ b\n- c\n+ d\n\ny.cc: never read\n- e\n+ f\n")
    expect(mutate.read_equivalent(path), {("x.cc", "a", "b"): "both give 0", ("x.cc", "c", "d"): "both give 0",
                                          ("y.cc", "e", "f"): "never read"}, "the list of equivalent mutants")
mutate.check_equivalent(mutate.read_equivalent(root / "scripts/equivalent-mutants"))

for program in mutate.PROGRAMS:
    for name in [*program.files, *program.sources]:
        expect((root / name).is_file(), True, f"{name}, a file of {program.name}, exists")
    for name in program.files:
        expect(build.Build.library(name) is not None, True, f"tests/mutation/build.py knows the library of {name}")

expect(mutate.quotas({"large": [0] * 300, "small": [0] * 3}, 100), {"large": 99, "small": 5}, "a draw of 100")
expect(mutate.quotas({"large": [0] * 300}, None), {"large": 300}, "no draw")


def result(verdict):
    return trial.Result(mutants.Mutant("x.cc", 1, "a", "b"), verdict)


found = {"x.cc": [result("killed")] * 17 + [result("killed by time limit")] * 2 + [result("survived")] +
         [result("equivalent"), result("same code"), result("does not compile")] * 9}
with contextlib.redirect_stdout(io.StringIO()) as printed:
    share = mutate.report(found, types.SimpleNamespace(sample=None, seed=1))
expect(round(share, 6), 95, "the share of 19 of 20 killed")
for text in ["| x.cc | 47 | 9 | 9 | 17 | 2 | 9 | 1 | 95.0 % |", "survived: x.cc:1\n- a\n+ b\n"]:
    expect(text in printed.getvalue(), True, f"the report has {text!r}")

sys.exit("\n".join(f"check_mutation: {problem}" for problem in problems) or 0)
