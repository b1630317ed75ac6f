"""Called by tests/oracle/tokenizer: PRINT_IDS DATA_FOLDER."""
import pathlib
import subprocess
import sys

from tokenizers import BertWordPieceTokenizer, __version__

print_ids, data = sys.argv[1], pathlib.Path(sys.argv[2])
vocabulary = str(data / "bert-base-uncased/vocab.txt")
# (file, column of the text from 1, whether the file has a header)
FILES = [(path, 1, False) for path in sorted((data / "sst2").glob("sentiment-*"))]
FILES += [(path, 2, True) for path in sorted((data / "gap").glob("*.tsv"))]


def texts_of(path, column, header):
    lines = path.read_bytes().decode().split("\n")
    rows = [line.removesuffix("\r").split("\t") for line in lines if line]
    return [row[column - 1] for row in rows[header:]]


rows = different = 0
for case in ("uncased", "cased"):
    wheel = BertWordPieceTokenizer(vocabulary, lowercase=case == "uncased")
    for path, column, header in FILES:
        texts = texts_of(path, column, header)
        command = [print_ids, vocabulary, case, str(path), str(column), "header" if header else "none"]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        bp_ids = [[int(word) for word in line.split()] for line in lines]
        wheel_ids = [encoding.ids for encoding in wheel.encode_batch(texts, add_special_tokens=False)]
        assert len(bp_ids) == len(wheel_ids), f"{path}: {len(bp_ids)} rows, not {len(wheel_ids)}"
        for text, a, b in zip(texts, bp_ids, wheel_ids):
            if a != b:
                different += 1
                if different <= 5:
                    print(f"{path.name}: {text!r}\n  bp    {a}\n  wheel {b}", file=sys.stderr)
        rows += len(texts)

verdict = "pass" if rows and not different else "FAIL"
print(f"{verdict}: {rows - different} of {rows} rows have the ids of tokenizers {__version__}")
sys.exit(verdict != "pass")
