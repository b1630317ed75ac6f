#!/usr/bin/env python3
"""Shows that check_stems.py finds each kind of fault, in a small tree of its own."""

import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True

from check_stems import problems_of

FILES = ("include/bp/log.h", "include/bp/torch/log.h", "base/log.cc", "comm/store/wire.h", "comm/store/wire.cc",
         "launcher/main.cc", "trainer/main.cc")


def problems_with(*more):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name in FILES + more:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).touch()
        return problems_of(root)


def expect(problems, *beginnings):
    assert len(problems) == len(beginnings), problems
    assert all(map(str.startswith, problems, beginnings)), problems


expect(problems_with())
expect(problems_with("launcher/wire.cc"),
       "'wire' stands for several things: comm/store/wire.cc, comm/store/wire.h, launcher/wire.cc")
expect(problems_with("base/log.h"), "'log' stands for several things: base/log.cc, base/log.h, include/bp/log.h")
expect(problems_with("trainer/log.cc"), "'log' stands for several things: base/log.cc, include/bp/log.h")
