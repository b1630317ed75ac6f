#!/usr/bin/env python3
"""Writes tokenizers/NAME.json, small tokenizers with the steps of published families, and tokenizers/NAME.txt: unusual
strings and the ids that the tokenizers wheel gives them, in the form of tokenizer_golden.txt without the first column.
Made with tokenizers 0.23.3 under Python 3.11.7:

    V/bin/python tests/golden/make_steps_golden.py        # V: see make_tokenizer_golden.py
"""
import base64
import collections
import json
import math
import random
import struct
import unicodedata

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from make_tokenizer_golden import HERE, escape, make_pool, make_strings

ROBERTA = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
BERT = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"]
STRINGS = 1500


def words():
    """Texts of English words with something of other scripts: the names of characters."""
    for c in range(0x20, 0x3000):
        name = unicodedata.name(chr(c), "")
        if name:
            yield f"{name.lower()} {chr(c)} {name.title()}'s {c}"


def trie_units(mapping):
    """A double array as Darts has it: {bytes: offset of the replacement}."""
    tree = {}
    for key, value in mapping.items():
        node = tree
        for byte in key:
            node = node.setdefault(byte, {})
        node[0] = value  # no key holds a zero byte
    units = {0: 0}

    def place(position, node):
        labels = sorted(node)
        base = 1
        while any(base ^ label in units for label in labels):
            base += 1
        units[position] |= (position ^ base) << 10 | (0x100 if 0 in node else 0)
        for label in labels:
            units[base ^ label] = label if label else 1 << 31 | node[0]
        for label in labels:
            if label:
                place(base ^ label, node[label])

    place(0, tree)
    return [units.get(i, 0) for i in range((max(units) // 256 + 1) * 256)]  # any byte from any node stays inside


def charsmap(rng, pool):
    """A table of replacements in the form of SentencePiece's, with what is special about them."""
    mapping = {"\t": " ", "\n": " ", "\r": " ", "\u00a0": " ", "\u3000": " ", "\u200b": "", "\ufb01": "fi", "\u2460": "1",
               "\uff21": "A", "e\u0301": "\u00e9", "\u00bd": "1\u20442", "\u0344": "\u0308\u0301", "\u1100\u1161": "\uac00",
               "\u2026": "...", "\u0958": "\u0915\u093c"}
    for c in rng.sample(pool, 400):
        kept = unicodedata.normalize("NFKC", chr(c))
        if kept != chr(c):
            mapping.setdefault(chr(c), kept)
    replacements = b""
    offsets = {}
    for key, value in sorted(mapping.items()):
        offsets[key.encode()] = len(replacements)
        replacements += value.encode() + b"\0"
    units = trie_units(offsets)
    return struct.pack(f"<{len(units) + 1}I", 4 * len(units), *units) + replacements


def unigram(special):
    """Parts of words with the logarithm of how often they occur."""
    counts = collections.Counter()
    for text in words():
        for word in text.split():
            word = "\u2581" + word
            for begin in range(len(word)):
                for end in range(begin + 1, min(begin + 6, len(word)) + 1):
                    counts[word[begin:end]] += 1
    whole = sum(counts.values())
    pieces = [(piece, math.log(count / whole)) for piece, count in counts.most_common(700)]
    return models.Unigram([(token, 0.0) for token in special] + pieces, unk_id=3)


def byte_pairs(special):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=700, special_tokens=special, show_progress=False,
                                  initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.train_from_iterator(words(), trainer)
    return tokenizer


def bert_pairs(tokenizer):
    ids = [(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    return processors.TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", ids)


def roberta():
    tokenizer = byte_pairs(ROBERTA)
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return tokenizer


def modernbert():
    tokenizer = byte_pairs(BERT)
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.add_special_tokens([AddedToken("[MASK]", lstrip=True, special=True)])
    tokenizer.add_tokens([AddedToken("  ", normalized=True), AddedToken("    ", normalized=True),
                          AddedToken("\u00e9t\u00e9", normalized=False, rstrip=True)])
    tokenizer.post_processor = bert_pairs(tokenizer)
    return tokenizer


def metaspace(split_first):
    last = pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="always")
    return pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), last]) if split_first else last


def xlm_roberta(table):
    tokenizer = Tokenizer(unigram(ROBERTA))
    tokenizer.normalizer = normalizers.Precompiled(table)
    tokenizer.pre_tokenizer = metaspace(True)
    tokenizer.add_special_tokens([AddedToken(token, lstrip=token == "<mask>", special=True) for token in ROBERTA])
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", "<s> $A </s> </s> $B </s>",
                                                             [("<s>", 0), ("</s>", 2)])
    return tokenizer


def albert(table):
    tokenizer = Tokenizer(unigram(BERT))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD(),
         normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Precompiled(table)])
    tokenizer.pre_tokenizer = metaspace(True)
    tokenizer.add_special_tokens(BERT)
    tokenizer.post_processor = bert_pairs(tokenizer)
    return tokenizer


def deberta(table):
    tokenizer = Tokenizer(unigram(BERT))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Strip(), normalizers.Precompiled(table), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = metaspace(False)
    tokenizer.add_special_tokens(BERT)
    tokenizer.post_processor = bert_pairs(tokenizer)
    return tokenizer


def main():
    rng = random.Random(2)
    pool = make_pool(rng)
    table = charsmap(rng, pool)
    folder = HERE / "tokenizers"
    folder.mkdir(exist_ok=True)
    made = {"roberta": roberta(), "modernbert": modernbert(), "xlm-roberta": xlm_roberta(table), "albert": albert(table),
            "deberta-v3": deberta(table)}
    for name, tokenizer in made.items():
        tokenizer.save(str(folder / f"{name}.json"), pretty=False)
        special = list(tokenizer.get_added_tokens_decoder().values())
        with open(folder / f"{name}.txt", "w", encoding="utf-8", newline="\n") as out:
            for string in make_strings(rng, pool, [token.content for token in special], STRINGS):
                ids = tokenizer.encode(string, add_special_tokens=False).ids
                print(escape(string), " ".join(map(str, ids)), sep="\t", file=out)


main()
