"""The peer of bert_train prep: csv, tokenizers (batches of 4096, all cores) and sqlite3 in Python.

    prepare_loop.py TABLE.csv VOCAB.txt STORE.sqlite

Writes one transaction: table samples with the row's number, its label, and its ids with [CLS] and [SEP] as int32."""

import array
import csv
import itertools
import os
import sqlite3
import sys

from tokenizers import BertWordPieceTokenizer

BATCH = 4096


def main():
    table, vocabulary, store = sys.argv[1:]
    tokenizer = BertWordPieceTokenizer(vocabulary, lowercase=True)
    database = sqlite3.connect(store)
    database.execute("PRAGMA synchronous=OFF")
    database.execute("CREATE TABLE samples(row INTEGER PRIMARY KEY, text TEXT, label TEXT, tokens BLOB)")
    with open(table, newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        next(rows)
        number = 1
        while batch := list(itertools.islice(rows, BATCH)):
            encoded = tokenizer.encode_batch([text for text, _ in batch])
            database.executemany("INSERT INTO samples VALUES(?, ?, ?, ?)",
                                 [(number + i, text, label, array.array("i", encoding.ids).tobytes())
                                  for i, ((text, label), encoding) in enumerate(zip(batch, encoded))])
            number += len(batch)
    database.commit()
    database.close()
    with open(store, "rb") as file:
        os.fsync(file.fileno())


if __name__ == "__main__":
    main()
