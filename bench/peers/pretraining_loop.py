"""The peer of bp's maker of pre-training shards: the rules of create_pretraining_data.py in Python. Google's and
NVIDIA's program tokenizes in Python too; this one lets `tokenizers` do that, which is many times as fast.

    pretraining_loop.py TEXT VOCAB.txt SHARD.hdf5 LENGTH MOST COPIES

TEXT has a sentence in each line and blank lines between documents."""

import itertools
import random
import sys

import h5py
import numpy
from tokenizers import BertWordPieceTokenizer

SHORT_SHARE, MASKED_SHARE, BATCH = 0.1, 0.15, 4096


def read_documents(path, tokenizer):
    """Documents as lists of sentences as lists of ids."""
    documents = [[]]
    with open(path, encoding="utf-8") as file:
        while lines := list(itertools.islice(file, BATCH)):
            encoded = tokenizer.encode_batch([line.strip() for line in lines], add_special_tokens=False)
            for line, encoding in zip(lines, encoded):
                if not line.strip():
                    documents.append([])
                elif encoding.ids:
                    documents[-1].append(encoding.ids)
    return [document for document in documents if document]


def truncate(first, second, room, rng):
    while len(first) + len(second) > room:
        longer = first if len(first) > len(second) else second
        if rng.random() < 0.5:
            del longer[0]
        else:
            longer.pop()


def hide(tokens, special, mask_id, vocabulary, most, rng):
    """The positions and ids of the masked tokens, which it hides in `tokens`."""
    candidates = [i for i, token in enumerate(tokens) if token not in special]
    rng.shuffle(candidates)
    count = min(most, max(1, int(round(len(tokens) * MASKED_SHARE))))
    positions = sorted(candidates[:count])
    ids = [tokens[i] for i in positions]
    for i in positions:
        if rng.random() < 0.8:
            tokens[i] = mask_id
        elif rng.random() >= 0.5:
            tokens[i] = rng.randint(0, vocabulary - 1)
    return positions, ids


def random_next(documents, own, wanted, rng):
    for _ in range(10):
        other = rng.randint(0, len(documents) - 1)
        if other != own:
            break
    document, tokens = documents[other], []
    for i in range(rng.randint(0, len(document) - 1), len(document)):
        tokens.extend(document[i])
        if len(tokens) >= wanted:
            break
    return tokens


def pairs_of(documents, index, length, rng):
    """Yields (first segment, second segment, whether the second is a random one)."""
    document, room = documents[index], length - 3
    target = rng.randint(2, room) if rng.random() < SHORT_SHARE else room
    chunk, tokens, i = [], 0, 0
    while i < len(document):
        chunk.append(document[i])
        tokens += len(document[i])
        if i == len(document) - 1 or tokens >= target:
            end = rng.randint(1, len(chunk) - 1) if len(chunk) >= 2 else 1
            first = [token for sentence in chunk[:end] for token in sentence]
            is_random = len(chunk) == 1 or rng.random() < 0.5
            if is_random:
                second = random_next(documents, index, target - len(first), rng)
                i -= len(chunk) - end
            else:
                second = [token for sentence in chunk[end:] for token in sentence]
            truncate(first, second, room, rng)
            yield first, second, is_random
            chunk, tokens = [], 0
        i += 1


def write(path, instances, length, most):
    count = len(instances)
    columns = {name: numpy.zeros([count, width] if width else [count], dtype=kind) for name, width, kind in (
        ("input_ids", length, "int32"), ("input_mask", length, "int32"), ("segment_ids", length, "int32"),
        ("masked_lm_positions", most, "int32"), ("masked_lm_ids", most, "int32"), ("next_sentence_labels", 0, "int32"))}
    for row, (tokens, first, positions, ids, is_random) in enumerate(instances):
        columns["input_ids"][row][:len(tokens)] = tokens
        columns["input_mask"][row][:len(tokens)] = 1
        columns["segment_ids"][row][first:len(tokens)] = 1
        columns["masked_lm_positions"][row][:len(positions)] = positions
        columns["masked_lm_ids"][row][:len(ids)] = ids
        columns["next_sentence_labels"][row] = is_random
    with h5py.File(path, "w") as file:
        for name, numbers in columns.items():
            wide = name in ("input_ids", "masked_lm_positions", "masked_lm_ids")
            file.create_dataset(name, data=numbers, dtype="i4" if wide else "i1", compression="gzip")


def main():
    text, vocabulary, shard = sys.argv[1:4]
    length, most, copies = map(int, sys.argv[4:])
    rng = random.Random(12345)
    tokenizer = BertWordPieceTokenizer(vocabulary, lowercase=True)
    cls, sep, mask_id = (tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]", "[MASK]"))
    special = {tokenizer.token_to_id(token) for token in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")}
    documents = read_documents(text, tokenizer)
    rng.shuffle(documents)
    instances = []
    for _ in range(copies):
        for index in range(len(documents)):
            for first, second, is_random in pairs_of(documents, index, length, rng):
                tokens = [cls, *first, sep, *second, sep]
                positions, ids = hide(tokens, special, mask_id, tokenizer.get_vocab_size(), most, rng)
                instances.append((tokens, len(first) + 2, positions, ids, is_random))
    rng.shuffle(instances)
    write(shard, instances, length, most)


if __name__ == "__main__":
    main()
