#!/usr/bin/env python3
"""Writes golden.jsonl: sentences of words, the ids that transformers gives them, and the targets that its recipe for token
classification gives the pieces.

    python3 -m venv V && V/bin/pip install transformers==5.23.0
    V/bin/python tests/golden/sentences/make.py

The words are those of tokenizer_golden.txt, which are unusual, except those of which nothing is left: transformers then
drops the word with its tag. `case` is u (uncased) or c (cased). The target of a word's first piece is the word's number.
"""
import json
import pathlib
import random
import re

from transformers import BertTokenizerFast

SENTENCES = 300
FOLDER = pathlib.Path(__file__).parent


def words_of(line):
    text = re.sub(r"\\u\{(\w+)\}", lambda match: chr(int(match[1], 16)), line.split("\t")[1])
    return text.split()


def encode(tokenizer, words):
    encoded = tokenizer(words, is_split_into_words=True)
    targets, before = [], None
    for word in encoded.word_ids():
        targets.append(-100 if word is None or word == before else word)
        before = word
    return encoded["input_ids"], targets


rng = random.Random(1)
vocabulary = {line: i for i, line in enumerate((FOLDER.parent / "tokenizer_vocab.txt").read_text(encoding="utf-8").split("\n")[:-1])}
tokenizers = {case: BertTokenizerFast(vocab=vocabulary, do_lower_case=case == "u") for case in "uc"}
lines = (FOLDER.parent / "tokenizer_golden.txt").read_text(encoding="utf-8").split("\n")[:-1]
words = {case: [word for line in lines if line[0] == case for word in words_of(line)
                if tokenizer(word, add_special_tokens=False)["input_ids"]] for case, tokenizer in tokenizers.items()}
made = []
for number in range(SENTENCES):
    case = "uc"[number % 2]
    chosen = rng.sample(words[case], rng.randrange(9))
    ids, targets = encode(tokenizers[case], chosen)
    made.append(json.dumps({"case": case, "words": chosen, "ids": ids, "targets": targets}, ensure_ascii=False,
                           separators=(",", ":")))
(FOLDER / "golden.jsonl").write_text("\n".join(made) + "\n", encoding="utf-8")
