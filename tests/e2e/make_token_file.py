"""Makes the SQLite file that bert_train_parallel makes of a CSV file with the columns text and label.

  make_token_file.py CSV VOCABULARY SQLITE LENGTH [CODE=LABEL...]

As there, a text of more than LENGTH-2 pieces becomes several samples, each padded with 0 to LENGTH, and all of them
have the attention mask of the last one. CODE=LABEL are the labels with their codes, by default in the order in which
they come.
"""

import csv
import random
import sqlite3
import sys

table, vocabulary, path, length = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
ids = {token: i for i, token in enumerate(open(vocabulary, encoding="utf-8").read().split("\n")[:-1])}


def pieces(word):
    while word:
        end = next(i for i in range(len(word), 0, -1) if word[:i] in ids)
        yield ids[word[:end]]
        word = "##" + word[end:] if len(word) > end else ""


rows = list(csv.DictReader(open(table, encoding="utf-8", newline="")))
codes = {}
for pair in sys.argv[5:]:
    code, label = pair.split("=")
    codes[label] = int(code)
for row in rows:
    codes.setdefault(row["label"], len(codes))

db = sqlite3.connect(path)
db.execute("CREATE TABLE Samples (sample_id int primary key, tok_ids text, attention_mask text, label int)")
sample_id = 0
for row in rows:
    tokens = [piece for word in row["text"].split() for piece in pieces(word)]
    starts = range(0, max(1, len(tokens)), length - 2)
    samples = [[ids["[CLS]"], *tokens[i : i + length - 2], ids["[SEP]"]] for i in starts]
    samples = [sample + [0] * (length - len(sample)) for sample in samples]
    mask = [1 if i > 0 else 0 for i in samples[-1]]
    for sample in samples:
        db.execute("INSERT INTO Samples VALUES (?, ?, ?, ?)", (sample_id, str(sample), str(mask), codes[row["label"]]))
        sample_id += 1
db.execute("CREATE TABLE LabelEncodings ('key_col' varchar(255), 'val_col' varchar(255))")
for label, code in codes.items():
    db.execute("INSERT INTO LabelEncodings VALUES (?, ?)", (str(code), label))

order = list(range(sample_id))
random.Random(3631).shuffle(order)
train, validate = int(0.8 * sample_id), int(0.1 * sample_id)
queues = {
    "TrainQueue": order[:train],
    "ValidateQueue": order[train : train + validate],
    "TestQueue": order[train + validate :],
}
for queue, its in queues.items():
    db.execute(f"CREATE TABLE {queue} (sample_id int)")
    db.executemany(f"INSERT INTO {queue} VALUES (?)", [(i,) for i in its])
db.commit()
db.close()
