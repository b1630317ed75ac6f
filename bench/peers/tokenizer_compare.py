"""Our tokenizer (tokenizer_bench) against the tokenizers wheel, and flash-tokenizer and BlingFire
where they can be imported, on SST-2's train texts and GAP's: MB of text a second on one core, medians
of interleaved runs. All must give the wheel's ids, or are marked. Exit code 1 when ours is slower
than --target or than another, or has other ids.

WordPiece has BERT's vocabulary. Byte-level BPE and Unigram, with GPT-2's vocabulary and XLM-R's and the
steps of RoBERTa and XLM-R, must be ten times as fast as the wheel; tests/oracle/tokenizer installs
their files.

The data is looked for in $BP_TEST_DATA, or --data."""

import argparse
import os
import pathlib
import statistics
import sys
import tempfile
import time

# One thread for everyone, before any of them is imported.
os.environ["RAYON_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numpy

from measuring import end_unmeasured, print_machine, program, run, spread

MASK = (1 << 64) - 1


def checksum(all_ids):
    """The sum of id times its place from 1, modulo 2^64: as tokenizer_bench prints it."""
    flat = numpy.fromiter((i for ids in all_ids for i in ids), dtype=numpy.uint64)
    places = numpy.arange(1, len(flat) + 1, dtype=numpy.uint64)
    return len(flat), int((flat * places).sum(dtype=numpy.uint64)) & MASK


def hf_tokenizers(vocabulary):
    from tokenizers import BertWordPieceTokenizer, Tokenizer
    if vocabulary.suffix == ".json":
        tokenizer = Tokenizer.from_file(str(vocabulary))
    else:
        tokenizer = BertWordPieceTokenizer(str(vocabulary), lowercase=True)

    def encode(texts):
        return [e.ids for e in tokenizer.encode_batch(texts, add_special_tokens=False)]
    return encode


def flash_tokenizer(vocabulary):
    from flash_tokenizer import BertTokenizerFlash
    tokenizer = BertTokenizerFlash(str(vocabulary), do_lower_case=True, model_max_length=4096)

    def encode(texts):
        return [tokenizer.tokenizer.encode(text, "longest", 4096)[1:-1] for text in texts]
    return encode


def blingfire(_vocabulary):
    import blingfire as library
    folder = pathlib.Path(library.__file__).parent
    model = library.load_model(str(folder / "bert_base_tok.bin"))

    def encode(texts):
        # At most an id a byte.
        return [library.text_to_ids(model, text, len(text.encode()), 100, no_padding=True)
                for text in texts]
    return encode


def ours(vocabulary, path):
    """tokenizer_bench's columns by name. `cold`: with an empty cache of words."""
    head, line = run([program("tokenizer_bench"), vocabulary, path]).strip().splitlines()[-2:]
    return dict(zip(head.split(), line.split()))


PEERS = {"tokenizers": hf_tokenizers, "flash-tokenizer": flash_tokenizer, "blingfire": blingfire}


def read_texts(data):
    """Lines of text by corpus."""
    sst2 = (data / "sst2" / "sentiment-train").read_text().split("\n")
    gap = []
    for name in ("development", "test", "validation"):
        gap += (data / "gap" / f"gap-{name}.tsv").read_text().split("\n")[1:]
    return {"SST-2": [line.split("\t")[0] for line in sst2 if line],
            "GAP": [line.split("\t")[1] for line in gap if line]}


def measure(encode, texts):
    begin = time.perf_counter()
    ids = encode(texts)
    return time.perf_counter() - begin, ids


def kinds(bert, folder):
    """(name, vocabulary, peers, how many times the rate of the fastest peer ours must have)"""
    yield "WordPiece", bert, PEERS, 1
    root = pathlib.Path(__file__).parents[2]
    files = root / ".deps/oracle/vocabularies"
    if not files.is_dir():
        print("byte-level BPE and Unigram are left out: tests/oracle/tokenizer installs their vocabularies")
        return
    sys.path.append(str(root / "tests/oracle"))
    import real_tokenizers
    for name, family in (("byte-level BPE", "RoBERTa"), ("Unigram", "XLM-R")):
        path = folder / f"{family}.json"
        real_tokenizers.FAMILIES[family](files).save(str(path))
        yield name, path, {"tokenizers": hf_tokenizers}, 10


def compare(corpus, texts, options, vocabulary, peers, folder):
    path = folder / f"{corpus}.txt"
    path.write_text("\n".join(texts) + "\n")
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    encoders = {}
    for name, make in peers.items():
        try:
            encoders[name] = make(vocabulary)
        except Exception as error:  # whatever a wheel built elsewhere may raise
            print(f"  {name} is left out: {error}")
    if "tokenizers" not in encoders:
        end_unmeasured("the tokenizers wheel is what ours must equal: run bench/peers/setup")
    rates = {"ours": [], **{name: [] for name in encoders}}
    sums = {}
    for _ in range(options.runs):
        result = ours(vocabulary, path)
        rates["ours"].append(float(result["cold_MB/s"]))
        sums["ours"] = int(result["tokens"]), int(result["checksum"])
        for name, encode in encoders.items():
            seconds, ids = measure(encode, texts)
            rates[name].append(megabytes / seconds)
            if name not in sums:
                sums[name] = checksum(ids)
    print(f"\n{corpus}: {len(texts)} texts, {megabytes:.2f} MB, one core")
    for name, values in rates.items():
        same = "" if sums[name] == sums["tokenizers"] else "  OTHER IDS"
        print(f"  {name:16} {spread(values)} MB/s{same}")
    mine = statistics.median(rates["ours"])
    best = max(statistics.median(values) for name, values in rates.items() if name != "ours")
    print(f"  ratio to the fastest other: {mine / best:.2f}")
    if sums["ours"] != sums["tokenizers"]:
        sys.exit(f"{corpus}: other ids than the tokenizers wheel's")
    return mine, mine / best


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("BP_TEST_DATA", ""))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--target", type=float, default=20, help="MB/s that ours must reach")
    options = parser.parse_args()
    data = pathlib.Path(options.data)
    if not options.data or not (data / "sst2").is_dir():
        end_unmeasured("set BP_TEST_DATA to a folder with sst2/, gap/ and bert-base-uncased/")
    print_machine()
    with tempfile.TemporaryDirectory(prefix="bp_compare_") as name:
        vocabulary = data / "bert-base-uncased" / "vocab.txt"
        passes = True
        for kind, path, peers, least in kinds(vocabulary, pathlib.Path(name)):
            print(f"\n{kind}")
            results = {corpus: compare(corpus, texts, options, path, peers, pathlib.Path(name))
                       for corpus, texts in read_texts(data).items()}
            print(f"\n{kind}, MB/s: " + ", ".join(f"{corpus} {mine:.0f} ({ratio:.1f} times the fastest other)"
                                                 for corpus, (mine, ratio) in results.items())
                  + f" ({options.target:.0f} or more, {least} times, and the same ids)")
            passes = passes and all(mine >= options.target and ratio >= least
                                    for mine, ratio in results.values())
    sys.exit(0 if passes else 1)


if __name__ == "__main__":
    main()
