"""token_entropy.py STORE: prints the entropy, in nats, of the tokens of a store's test split without special ones."""
import array
import collections
import math
import sqlite3
import sys

database = sqlite3.connect(sys.argv[1])
special = {number for number, token in database.execute("SELECT id, token FROM vocabulary")
           if token in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")}
counts = collections.Counter()
for (tokens,) in database.execute("SELECT tokens FROM test_samples"):
    counts.update(token for token in array.array("i", tokens) if token not in special)
shares = [count / sum(counts.values()) for count in counts.values()]
print(round(-sum(share * math.log(share) for share in shares), 4))
