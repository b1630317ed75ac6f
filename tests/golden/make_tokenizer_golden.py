#!/usr/bin/env python3
"""Writes tokenizer_vocab.txt and tokenizer_golden.txt: 10,000 unusual strings and the ids that the
tokenizers wheel gives them. Made with tokenizers 0.23.3 under Python 3.11.7 (unicodedata 14.0.0):

    python3 -m venv V && V/bin/pip install tokenizers==0.23.3
    V/bin/python tests/golden/make_tokenizer_golden.py

A line of the golden file holds u (uncased) or c (cased), the string with \\u{HEX} for backslashes and
characters that do not print, and the ids, separated by tabs.
"""
import pathlib
import random
import re
import unicodedata

from tokenizers import BertWordPieceTokenizer, normalizers

HERE = pathlib.Path(__file__).parent
TABLES = HERE.parent.parent / "trainer/text/unicode_tables.inc"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CASED = 2000  # the number of strings that are cased


def is_character(c):
    return 0 <= c < 0x110000 and not 0xD800 <= c <= 0xDFFF


def ranges_of(table):
    """Returns the ranges of a table that make_unicode_tables.py has packed."""
    numbers, number, shift = [], 0, 0
    for digit in "".join(re.findall(r'"(.*)"', table)).replace(r"\\", "\\"):
        number |= ((ord(digit) - ord("0")) & 31) << shift
        shift += 5
        if ord(digit) - ord("0") < 32:
            numbers.append(number)
            number, shift = 0, 0
    width = 4 if "LowerRange" in table else 2
    rows, end = [], 0
    for distance, length in zip(numbers[::width], numbers[1::width]):
        rows.append((end + distance, end + distance + length))
        end += distance + length + 1
    return rows


def make_pool(rng):
    """Returns the edges of every range that the tokenizer distinguishes, and a sample of all other characters."""
    pool = set()
    for table in TABLES.read_text().split("constexpr")[1:9]:  # BERT's
        rows = ranges_of(table)
        for first, last in rows if len(rows) < 80 else rng.sample(rows, 80):
            pool |= {first - 1, first, last, last + 1}
    everything = [c for c in range(0x110000) if is_character(c)]
    pool |= set(rng.sample([c for c in everything if unicodedata.category(chr(c)) != "Cn"], 300))
    pool |= set(rng.sample(everything, 50)) | set(range(0xAC00, 0xAC20)) | set(range(0xC0, 0x180))
    return sorted(filter(is_character, pool))


def make_strings(rng, pool, special=SPECIAL, count=10000):
    for _ in range(count):
        string = ""
        for _ in range(rng.randrange(1, 10)):
            kind = rng.random()
            if kind < 0.45:
                string += chr(rng.choice(pool))
            elif kind < 0.55:
                string += rng.choice(" \t\n\r ")
            elif kind < 0.58:
                string += rng.choice(special + ["[sep]", "[", "[SEP", "]"])
            elif kind < 0.595:
                string += rng.choice("aé\u0301中") * rng.choice([60, 99, 100, 101])
            else:
                string += chr(rng.randrange(32, 127))
        yield string


def make_vocabulary(pool):
    """Returns each character that can remain, alone and as a continuation, and some pairs of letters."""
    lower = normalizers.BertNormalizer(lowercase=True)
    cased = normalizers.BertNormalizer(lowercase=False)
    characters = set(map(chr, range(33, 127)))
    for c in pool:
        characters |= set(lower.normalize_str(chr(c)) + cased.normalize_str(chr(c)))
    characters = sorted(c for c in characters if not c.isspace())
    pairs = [a + b for a in "aeiou" for b in "lmnrst"]
    tokens = SPECIAL + characters + pairs
    return tokens + ["##" + token for token in characters + pairs if token != "#"]


def escape(string):
    return "".join(
        f"\\u{{{ord(c):X}}}" if c == "\\" or not c.isprintable() or unicodedata.category(c)[0] == "M" else c
        for c in string
    )


def main():
    rng = random.Random(1)
    pool = make_pool(rng)
    tokens = make_vocabulary(pool)
    (HERE / "tokenizer_vocab.txt").write_text("\n".join(tokens) + "\n", newline="\n")
    ids = {token: i for i, token in enumerate(tokens)}
    tokenizers = {kind: BertWordPieceTokenizer(ids, lowercase=kind == "u") for kind in "uc"}
    with open(HERE / "tokenizer_golden.txt", "w", encoding="utf-8", newline="\n") as out:
        for i, string in enumerate(make_strings(rng, pool)):
            kind = "c" if i < CASED else "u"
            encoded = tokenizers[kind].encode(string, add_special_tokens=False)
            print(kind, escape(string), " ".join(map(str, encoded.ids)), sep="\t", file=out)


if __name__ == "__main__":
    main()
