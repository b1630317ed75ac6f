"""Called by tests/oracle/tokenizer: PRINT_IDS DATA_FOLDER VOCABULARIES STRINGS."""
import hashlib
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unicodedata

from tokenizers import BertWordPieceTokenizer, Tokenizer, __version__, models, pre_tokenizers, trainers

import real_tokenizers

print_ids, data, vocabularies, strings = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
vocabulary = str(data / "bert-base-uncased/vocab.txt")
# (file, column of the text from 1, whether the file has a header)
SST2 = [(path, 1, False) for path in sorted((data / "sst2").glob("sentiment-*"))]
GAP = [(data / f"gap/gap-{name}.tsv", 2, True) for name in ("development", "test", "validation")]
# The SHA-256 of the ids of SST-2's train texts, joined by blanks.
HASHES = {"RoBERTa, sentiment-train": "7d37ee6e65fd2911", "multilingual-e5, sentiment-train": "d2f952566e9dd680"}


def texts_of(path, column, header):
    lines = path.read_bytes().decode().split("\n")
    rows = [line.removesuffix("\r").split("\t") for line in lines if line]
    return [row[column - 1] for row in rows[header:]]


def random_texts(count):
    """Words of ASCII and of one script, any characters, marks, white space, and special tokens."""
    rng = random.Random(39)
    assigned = [c for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cs", "Cn", "Co")]
    known = set(assigned)
    marks = [c for c in assigned if unicodedata.category(chr(c))[0] == "M"]
    special = ["<s>", "</s>", "<mask>", "[MASK]", "[CLS]", "<unk>", "'s", "'LL", "``", "''", "\u2581", "\r\n", "...",
               "  ", " " * 25, " [MASK] ", "|||PHONE_NUMBER|||", "[unused7]", "<|endoftext|>"]
    for _ in range(count):
        text = ""
        for _ in range(rng.randrange(1, 12)):
            kind = rng.random()
            if kind < 0.35:
                text += "".join(chr(rng.randrange(33, 127)) for _ in range(rng.randrange(1, 8)))
            elif kind < 0.5:
                begin = rng.choice(assigned)
                text += "".join(chr(c) for c in range(begin, begin + rng.randrange(1, 5)) if c in known)
            elif kind < 0.6:
                text += chr(rng.choice(assigned))
            elif kind < 0.7:
                text += chr(rng.choice(marks))
            elif kind < 0.75:
                text += rng.choice(special)
            else:
                text += rng.choice("    \t\n\r\u00a0\u3000\u2028\u0085\u200b")
        yield text


def differences(name, encode, command, texts):
    """Prints the first texts with other ids, and returns how many there are."""
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")[:-1]
    bp_ids = [[int(word) for word in line.split()] for line in lines]
    wheel_ids = [encoding.ids for encoding in encode(texts, add_special_tokens=False)]
    assert len(bp_ids) == len(wheel_ids), f"{name}: {len(bp_ids)} rows, not {len(wheel_ids)}"
    found = [case for case in zip(texts, bp_ids, wheel_ids) if case[1] != case[2]]
    for text, ours, theirs in found[:5]:
        print(f"{name}: {text!r}\n  bp    {ours}\n  wheel {theirs}", file=sys.stderr)
    digest = hashlib.sha256(" ".join(str(i) for ids in bp_ids for i in ids).encode()).hexdigest()
    if not digest.startswith(HASHES.get(name, "")):
        print(f"{name}: the hash of all ids is {digest}", file=sys.stderr)
        return len(found) + 1
    return len(found)


def trained_pairs(path, column, header, size=8000):
    """Returns whether bp and the wheel learn the same byte pairs, and the same tokenizer, from a file."""
    texts = texts_of(path, column, header)
    command = [print_ids, "--train", str(size), str(path), str(column), "header" if header else "none"]
    ours = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    wheel = Tokenizer(models.BPE())
    wheel.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    wheel.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=size, min_frequency=2, show_progress=False, special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    learned, theirs = json.loads(ours)["model"], json.loads(wheel.to_str())["model"]
    same = learned["vocab"] == theirs["vocab"] and learned["merges"] == theirs["merges"]
    read = Tokenizer.from_str(ours).encode_batch(texts[:2000], add_special_tokens=False)
    same = same and [a.ids for a in read] == [b.ids for b in wheel.encode_batch(texts[:2000], add_special_tokens=False)]
    print(f"byte pairs of {path.name}: {len(learned['merges'])} merges, {'the same' if same else 'OTHERS'}", flush=True)
    return same


rows = different = 0
with tempfile.TemporaryDirectory() as folder:
    random_file = pathlib.Path(folder) / "random.jsonl"
    unusual = list(random_texts(strings))
    random_file.write_text("".join(json.dumps(text) + "\n" for text in unusual))
    kinds = []
    for case in ("uncased", "cased"):
        wheel = BertWordPieceTokenizer(vocabulary, lowercase=case == "uncased")
        kinds.append((f"BERT {case}", wheel.encode_batch, [print_ids, vocabulary, case]))
    for family, make in real_tokenizers.FAMILIES.items():
        path = pathlib.Path(folder) / f"{family}.json"
        wheel = make(vocabularies)
        wheel.save(str(path))
        kinds.append((family, wheel.encode_batch, [print_ids, str(path), "uncased"]))
    for name, encode, command in kinds:
        for path, column, header in SST2 + GAP:
            texts = texts_of(path, column, header)
            place = [str(path), str(column), "header" if header else "none"]
            different += differences(f"{name}, {path.name}", encode, command + place, texts)
            rows += len(texts)
        different += differences(f"{name}, random", encode, command + [str(random_file)], unusual)
        rows += len(unusual)
        print(f"{name}: {different} differences so far", flush=True)

for source in (SST2[-1], GAP[0]):
    different += not trained_pairs(*source)
    rows += 1

verdict = "pass" if rows and not different else "FAIL"
print(f"{verdict}: {rows - different} of {rows} rows have the ids of tokenizers {__version__}")
sys.exit(verdict != "pass")
