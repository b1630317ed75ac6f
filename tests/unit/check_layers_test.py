#!/usr/bin/env python3
"""Shows that check_layers.py finds each kind of fault, in a small tree of its own."""

import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True

from check_layers import problems_of

FILES = {
    "docs/layers": "# a comment\nbase:\ncomm/engine: base\ncomm/torch: base\n  comm/engine\n",
    "base/fd.h": "",
    "comm/engine/engine.h": '#include <vector>\n#include "base/fd.h"\n#include "made_by_cmake.h"\n',
    "comm/torch/bucket.cc": '#include "base/fd.h"\n#include "comm/engine/engine.h"\n',
    "include/bp/log.h": "",
}


def problems_with(changes):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {**FILES, **changes}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        return problems_of(root)


def expect(changes, *problems):
    found = problems_with(changes)
    assert len(found) == len(problems), f"{changes} gave {found}"
    assert all(map(str.startswith, found, problems)), f"{changes} gave {found}"


expect({})
expect({"base/fd.h": '#include "comm/engine/engine.h"\n'},
       "base/fd.h includes comm/engine/engine.h: docs/layers does not let base include comm/engine")
expect({"base/fd.h": '#include "bp/log.h"\n'},
       "base/fd.h includes bp/log.h: docs/layers does not let base include include/bp")
expect({"comm/new/new.h": '#include "base/fd.h"\n'},
       "comm/new/new.h includes base/fd.h: docs/layers does not let comm/new include base")
expect({"comm/torch/bucket.cc": '#include "base/fd.h"\n'},
       "docs/layers: comm/torch includes nothing of comm/engine")
expect({"docs/layers": FILES["docs/layers"] + "comm/gone:\n"}, "docs/layers: there is no folder comm/gone")
expect({"docs/layers": FILES["docs/layers"].replace("base:\n", "base: comm/torch\n"),
        "base/fd.h": '#include "comm/torch/bucket.h"\n', "comm/torch/bucket.h": ""},
       "docs/layers has a circle: ")
