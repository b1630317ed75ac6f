"""bert_train beside the classes of transformers in a loop whose batches have texts of similar length (torch_loop.py), a
pair for each family of encoders: six layers of 384 (BART: six of each stack) with fresh weights that transformers wrote,
sentences of SST-2, the same token ids, precision, dropout of the folder's config.json and clipping. The loop runs with
whichever attention of transformers is the faster here. Both train from the same weights on the same rows first, without
dropout, and the losses must agree. Runs take turns. Exit code 1 if the ratio of a family is below 0.9 of BERT's."""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile

from measuring import HERE, KEEPS_LARGE_BLOCKS, print_machine, program, run, run_json, spread
from same_losses import STEPS, TOLERANCE, first_difference, our_losses
from sst2 import data_folder, rate_of, sources, write_ids, write_sentences
from train_compare import LR

sys.path.append(str(HERE / "collectives"))
import checks  # noqa: E402
from checks import Check  # noqa: E402

OF_BERT = 0.9  # of the ratio that BERT has
PAD = 1  # MPNet counts positions from there, whatever config.json says
LABELS = {"id2label": {0: "0", 1: "1"}, "label2id": {"0": 0, "1": 1}}
SIZES = {**LABELS, "vocab_size": 30522, "pad_token_id": PAD, "hidden_size": 384, "num_attention_heads": 12, "num_hidden_layers": 6,
         "intermediate_size": 1536, "max_position_embeddings": 514}


def configs():
    import transformers
    ends = {"cls_token_id": 101, "sep_token_id": 102, "bos_token_id": 101, "eos_token_id": 102}
    return {
        "bert": transformers.BertConfig(**SIZES),
        "roberta": transformers.RobertaConfig(**SIZES, type_vocab_size=1, layer_norm_eps=1e-5),
        "distilbert": transformers.DistilBertConfig(vocab_size=30522, pad_token_id=PAD, dim=384, n_heads=12, n_layers=6,
                                                    hidden_dim=1536, **LABELS),
        "electra": transformers.ElectraConfig(**SIZES, embedding_size=128),
        "albert": transformers.AlbertConfig(**SIZES, embedding_size=128, num_hidden_groups=1),
        "mpnet": transformers.MPNetConfig(**SIZES),
        "deberta-v2": transformers.DebertaV2Config(**SIZES, relative_attention=True, position_buckets=256,
                                                   pos_att_type=["p2c", "c2p"], share_att_key=True,
                                                   norm_rel_ebd="layer_norm", position_biased_input=False),
        "modernbert": transformers.ModernBertConfig(**SIZES | ends, local_attention=128, embedding_dropout=0.1,
                                                    attention_dropout=0.1, mlp_dropout=0.1),
        "bart": transformers.BartConfig(**LABELS, vocab_size=30522, pad_token_id=PAD, bos_token_id=101, eos_token_id=102,
                                        decoder_start_token_id=102, d_model=384, encoder_layers=6, decoder_layers=6,
                                        encoder_attention_heads=12, decoder_attention_heads=12, encoder_ffn_dim=1536,
                                        decoder_ffn_dim=1536, max_position_embeddings=512, attention_dropout=0.1,
                                        classifier_dropout=0.1, use_cache=False),
    }


def write_models(folder, vocabulary, families):
    """A folder a family, with weights and the tokenizer of BERT, whose [PAD] has the id PAD."""
    import torch
    import transformers
    words = vocabulary.read_text(encoding="utf-8").splitlines()
    words[0], words[PAD] = words[PAD], words[0]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    tokenizer = transformers.BertTokenizer(str(folder / "vocab.txt"))
    found = configs()
    if unknown := set(families) - set(found):
        sys.exit(f"--families {', '.join(sorted(unknown))}: there are {', '.join(found)}")
    for family in families:
        torch.manual_seed(1)
        model = transformers.AutoModelForSequenceClassification.from_config(found[family])
        model.save_pretrained(folder / family)
        tokenizer.save_pretrained(folder / family)


def data_of(folder, family):
    """bert_train's words, with the store of this family's tokenizer."""
    return [*sources(folder), "--store", folder / f"{family}.sqlite"]


def ours(folder, family, options):
    return rate_of([program("bert_train"), *data_of(folder, family), "--model", folder / family, "--precision",
                    options.precision, "--batch", options.batch, "--lr", LR], folder / "run", options)


def loop(folder, family, options, attention, *more):
    return run_json([sys.executable, HERE / "torch_loop.py", "--transformers", "--pad", PAD, "--ids", folder / "ids.npz",
                     "--model", folder / family, "--batch", options.batch, "--precision", options.precision, "--trim",
                     "--attention", attention, "--lr", LR, *more], env=os.environ | KEEPS_LARGE_BLOCKS)


def rate_of_loop(folder, family, options, attention):
    return loop(folder, family, options, attention, "--buckets", 50, "--windows", options.windows,
                "--window-steps", options.window)["samples_per_s"]


def ways_of(family):
    """The attentions of transformers; MPNet and DeBERTa have one."""
    return ("plain",) if family in ("mpnet", "deberta-v2") else ("sdpa", "plain")


def require_same_losses(folder, family, options):
    mine, (rows,) = our_losses(folder, folder / family, data_of(folder, family),
                               ["--batch", options.batch, "--precision", options.precision, "--lr", LR])
    (folder / "rows.json").write_text(json.dumps(rows))
    theirs = loop(folder, family, options, ways_of(family)[0], "--rows", folder / "rows.json", "--dropout", 0)["losses"]
    if why := first_difference(mine, theirs, TOLERANCE[options.precision]):
        sys.exit(f"{family}: transformers computes something else than bert_train: {why}")
    print(f"{family}: {STEPS} losses from {mine[0]:.4f} to {mine[-1]:.4f} agree", flush=True)


def compare(folder, family, options):
    """The ratio of the rates, after telling both."""
    require_same_losses(folder, family, options)
    tried = {attention: rate_of_loop(folder, family, options, attention) for attention in ways_of(family)}
    attention = max(tried, key=tried.get)
    sides = {"bert_train": lambda: ours(folder, family, options),
             "loop": lambda: rate_of_loop(folder, family, options, attention)}
    rates = {name: [] for name in sides}
    for turn in range(options.runs):
        for name in list(sides)[::1 if turn % 2 == 0 else -1]:
            rates[name].append(sides[name]())
    ratio = statistics.median(rates["bert_train"]) / statistics.median(rates["loop"])
    print(f"{family}, {options.precision}: samples/s, "
          + ", ".join(f"{name} {spread(found)}" for name, found in rates.items()) + f" ({attention}): {ratio:.2f}", flush=True)
    return ratio


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--families", default=",".join(configs()), help="some of them; BERT is always measured, first")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--windows", type=int, default=5, help="windows of steps in a run")
    parser.add_argument("--window", type=int, default=10, help="steps in a window")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rows", type=int, default=20000, help="sentences to train on")
    options = parser.parse_args()
    data = data_folder()
    print_machine()
    families = list(dict.fromkeys(["bert", *options.families.split(",")]))
    found = []
    with tempfile.TemporaryDirectory(prefix="bp_families_") as name:
        folder = pathlib.Path(name)
        write_sentences(folder, data, options.rows)
        write_models(folder, data / "bert-base-uncased" / "vocab.txt", families)
        write_ids(folder, sys.executable, folder / "vocab.txt")
        ratios = {family: compare(folder, family, options) for family in families}
    for family, ratio in ratios.items():
        share = ratio / ratios["bert"]
        found.append(Check(f"{family}: bert_train / loop as a share of BERT's", f"{share:.2f}", f"{OF_BERT} or more",
                           share >= OF_BERT))
        print(found[-1], flush=True)
    sys.exit(checks.finish(found))


if __name__ == "__main__":
    main()
