"""What the comparisons on sentences of SST-2 share: the files, the token ids, and the rate of a run of bert_train."""

import json
import os
import pathlib
import shutil
import statistics

from measuring import end_unmeasured, run
from train_compare import WARM_UP_SHARE, window_rates

MAX_LENGTH = 64
COLUMNS = ["--header", "no", "--text", "1", "--label", "2", "--max-length", MAX_LENGTH]  # bert_train's words

IDS = """
import sys, numpy, transformers
rows = [line.rsplit("\\t", 1) for line in open(sys.argv[1], encoding="utf-8").read().splitlines()]
tokenizer = transformers.BertTokenizer(sys.argv[2])
found = tokenizer([text for text, _ in rows], truncation=True, max_length=int(sys.argv[3]))["input_ids"]
ids = numpy.full((len(rows), max(map(len, found))), tokenizer.pad_token_id, dtype=numpy.int64)
for row, own in zip(ids, found):
    row[:len(own)] = own
numpy.savez(sys.argv[4], ids=ids, labels=numpy.array([int(label) for _, label in rows]))
"""


def data_folder():
    """$BP_TEST_DATA; ends the comparison if it has no SST-2."""
    data = pathlib.Path(os.environ.get("BP_TEST_DATA", ""))
    if not (data / "sst2").is_dir():
        end_unmeasured("BP_TEST_DATA is not the folder with sst2/ and bert-base-uncased/")
    return data


def write_sentences(folder, data, rows):
    """Writes train.tsv, with so many rows, and dev.tsv."""
    for part, count in (("train", rows), ("dev", 100)):
        lines = (data / "sst2" / f"sentiment-{part}").read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / f"{part}.tsv").write_text("".join(lines[:count]), encoding="utf-8")


def write_ids(folder, python, vocabulary):
    """Writes ids.npz for train.tsv with a Python that has transformers."""
    run([python, "-c", IDS, folder / "train.tsv", vocabulary, MAX_LENGTH, folder / "ids.npz"])


def sources(folder):
    """The data of write_sentences() in bert_train's words."""
    return [folder / "train.tsv", "--dev", folder / "dev.tsv", "--test", folder / "dev.tsv", *COLUMNS]


def rate_of(command, target, options):
    """Samples/s of a run of bert_train, which writes `target`: the median of its windows after the warm-up."""
    shutil.rmtree(target, ignore_errors=True)
    steps = options.windows * options.window
    run([*command, "--steps", steps, "--eval-every", steps, "--save-every", "none", "--run", target])
    records = [json.loads(line) for line in (target / "metrics.jsonl").read_text().splitlines()]
    rates = window_rates([record for record in records if "split" not in record], options.window)
    return statistics.median(rates[int(len(rates) * WARM_UP_SHARE):])
