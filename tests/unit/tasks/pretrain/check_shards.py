#!/usr/bin/env python3
"""Exchanges shards of pre-training with h5py: check_shards.py SHARD_NUMBERS ROOT

h5py reads what ShardWriter writes, with NVIDIA's types. ShardReader reads what h5py writes as NVIDIA's
create_pretraining_data.py does, and refuses shards that are broken. Exit code 77 without h5py, which
tests/oracle/setup installs.
"""
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile

program, root = sys.argv[1], pathlib.Path(sys.argv[2])
try:
    import h5py
    import numpy
except ImportError:
    oracle = root / ".deps/oracle/bin/python"
    if oracle.exists() and pathlib.Path(sys.prefix) != oracle.parent.parent:
        os.execv(oracle, [str(oracle), *sys.argv])
    print("h5py is not installed: run tests/oracle/setup")
    sys.exit(77)

WIDE = ("input_ids", "masked_lm_positions", "masked_lm_ids")
TYPES = {name: "i4" if name in WIDE else "i1"
         for name in ("input_ids", "input_mask", "segment_ids", "masked_lm_positions", "masked_lm_ids",
                      "next_sentence_labels")}
folder = tempfile.TemporaryDirectory()
path = pathlib.Path(folder.name) / "shard.hdf5"


def run(*arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def instances_of(text):
    return [[[int(number) for number in part.split()] for part in line.split(",")] for line in text.splitlines()]


def columns_of(instances, width, masked):
    """The six columns of the instances, as NVIDIA's writer makes them."""
    def padded(rows, to):
        return numpy.array([row + [0] * (to - len(row)) for row in rows])
    first, second, following, positions, ids = zip(*instances)
    return {"input_ids": padded([a + b for a, b in zip(first, second)], width),
            "input_mask": padded([[1] * len(a + b) for a, b in zip(first, second)], width),
            "segment_ids": padded([[0] * len(a) + [1] * len(b) for a, b in zip(first, second)], width),
            "masked_lm_positions": padded(positions, masked), "masked_lm_ids": padded(ids, masked),
            "next_sentence_labels": numpy.array([max(0, label[0]) for label in following])}


def write(columns, types=TYPES, **options):
    with h5py.File(path, "w") as file:
        for name, numbers in columns.items():
            file.create_dataset(name, data=numbers, dtype=types[name], **(options or {"compression": "gzip"}))


def check_writer(rows):
    status, printed, error = run("write", path, rows)
    assert status == 0, error
    with h5py.File(path) as file:
        assert set(file) == set(TYPES), set(file)
        expected = columns_of(instances_of(printed), 32, 5) if rows else None
        for name, kind in TYPES.items():
            assert file[name].dtype == numpy.dtype(kind), (name, file[name].dtype)
            assert file[name].compression == "gzip", name
            assert file[name].shape[0] == rows, (name, file[name].shape)
            if rows:
                assert (file[name][:] == expected[name]).all(), name
    assert not path.with_suffix(".hdf5.part").exists()
    return instances_of(printed)


def check_reader(instances):
    columns = columns_of(instances, 32, 5)
    for options in ({}, {"chunks": True}, {"compression": "gzip", "shuffle": True}, {"maxshape": None}):
        write(columns, **({"chunks": None} if options == {"maxshape": None} else options))
        status, printed, error = run("read", path, 30000)
        assert status == 0, error
        assert instances_of(printed) == instances, options
    for types in (dict.fromkeys(TYPES, "i8"), dict.fromkeys(TYPES, "u4"),
                  TYPES | dict.fromkeys(("input_mask", "segment_ids", "next_sentence_labels"), "?")):
        write(columns, types)
        status, printed, error = run("read", path, 30000)
        assert status == 0, error
        assert instances_of(printed) == instances, types
    return columns


def refused(columns, expected, types=TYPES):
    write(columns, types)
    status, _, error = run("read", path, 30000)
    assert status == 65 and error == f"{path}{expected}\n", (status, error)


def with_number(columns, name, place, number):
    changed = {key: value.copy() for key, value in columns.items()}
    changed[name][place] = number
    return changed


def check_refusals(columns):
    def row(name, place, number, text):
        refused(with_number(columns, name, place, number), f", row {(place if isinstance(place, int) else place[0]) + 1}: {text}")
    row("input_ids", (7, 0), 30000, "'input_ids' holds 30000, but the vocabulary has 30000 tokens")
    row("input_ids", (7, 1), -1, "'input_ids' holds -1, but the vocabulary has 30000 tokens")
    row("input_mask", (6, 2), 0, "'input_mask' is not ones, then zeros")
    row("input_mask", (0, slice(None)), 0, "'input_mask' is not ones, then zeros")
    row("segment_ids", (9, 0), 1, "'segment_ids' is not zeros, then ones")
    row("segment_ids", (9, 3), 2, "'segment_ids' is not zeros, then ones")
    row("masked_lm_positions", (5, 1), 9, "'masked_lm_positions' holds 9, but there are 9 tokens")
    row("masked_lm_positions", (5, 1), -2, "'masked_lm_positions' holds -2, but there are 9 tokens")
    row("masked_lm_ids", (5, 0), 31000, "'masked_lm_ids' holds 31000, but the vocabulary has 30000 tokens")
    row("next_sentence_labels", 3, 2, "'next_sentence_labels' is 2, neither 0 nor 1")
    refused({name: numbers for name, numbers in columns.items() if name != "segment_ids"}, ": has no data set 'segment_ids'")
    refused(columns, ": 'masked_lm_ids' is not of integers of at most 64 bits", TYPES | {"masked_lm_ids": "f4"})
    refused(with_number({key: value.astype("i8") for key, value in columns.items()}, "input_ids", (7, 0), 2**32 + 5),
            ", row 8: 'input_ids' holds 2147483647, but the vocabulary has 30000 tokens", dict.fromkeys(TYPES, "i8"))
    refused(columns | {"segment_ids": columns["segment_ids"][:-1]},
            f": 'segment_ids' is [{len(columns['segment_ids']) - 1}, 32], not [{len(columns['input_ids'])}, 32] as the other data sets say")
    refused(columns | {"masked_lm_ids": columns["masked_lm_ids"][:, :4]},
            f": 'masked_lm_ids' is [{len(columns['input_ids'])}, 4], not [{len(columns['input_ids'])}, 5] as the other data sets say")
    refused(columns | {"next_sentence_labels": columns["next_sentence_labels"][:, None]},
            ": 'next_sentence_labels' does not have 1 dimension(s)")
    refused(columns | {"input_ids": columns["input_ids"][:, 0]}, ": 'input_ids' does not have 2 dimension(s)")


def check_broken_files(columns):
    write(columns)
    whole = path.read_bytes()
    path.write_bytes(b"not HDF5")
    status, _, error = run("read", path, 30000)
    assert status == 65 and error.startswith(f"{path}: is not an HDF5 file, or is broken: "), error
    path.write_bytes(whole[:len(whole) // 2])
    status, _, error = run("read", path, 30000)
    assert status == 65 and str(path) in error, (status, error)
    with h5py.File(path, "w") as file:  # a data set that would fill any memory
        for name, kind in TYPES.items():
            shape = (1 << 50,) if name == "next_sentence_labels" else (1 << 50, 32)
            file.create_dataset(name, shape=shape, dtype=kind, chunks=tuple([64, 32][:len(shape)]))
    status, _, error = run("read", path, 30000)
    assert (status, error) == (65, f"{path}, row 1: 'input_mask' is not ones, then zeros\n"), error
    with h5py.File(path, "w") as file:
        for name, kind in TYPES.items():
            file.create_dataset(name, shape=(1 << 25,) if name == "next_sentence_labels" else (1 << 25, 32), dtype=kind,
                                chunks=(1 << 24,) if name == "next_sentence_labels" else (1 << 24, 32))
    status, _, error = run("read", path, 30000)
    assert (status, error) == (65, f"{path}: 'input_ids' lies in other files or in chunks of more than 64 MiB\n"), error
    path.unlink()
    status, _, error = run("read", path, 30000)
    assert status == 66 and str(path) in error, (status, error)


for count in (0, 1, 100, 40000):
    made = check_writer(count)
check_refusals(check_reader(made[:3000]))
check_broken_files(columns_of(made[:3000], 32, 5))
status, _, error = run("write", "/nowhere/shard.hdf5", 1)
assert status == 1 and error.startswith("cannot write /nowhere/shard.hdf5.part: No such file or directory"), error
for limit in (1000, 100000):  # a full disk, when the file is made and later
    done = subprocess.run([program, "write", path, "60000"], capture_output=True, text=True, check=False,
                          preexec_fn=lambda limit=limit: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
                                                          resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))))
    assert done.returncode == 1, done
    assert done.stderr.startswith(f"cannot write {path}.part: File too large; about "), done.stderr
    assert done.stderr.count("\n") == 1 and not list(path.parent.iterdir()), done.stderr
print(f"h5py {h5py.__version__} and bp read each other's shards")
