"""Compares adapters of bert_train --lora, and the model merged from them, with peft and transformers. See tests/oracle/lora."""

import argparse
import csv
import pathlib

import numpy
import peft
import torch
import transformers

LARGEST_DIFFERENCE = 1e-5  # of a probability, and of a logit


def logits_of(model, tokenizer, texts, rows=64):
    with torch.no_grad():
        return numpy.concatenate([
            model(**tokenizer(texts[at:at + rows], padding=True, truncation=True, max_length=128, return_tensors="pt"))
            .logits.numpy() for at in range(0, len(texts), rows)])


def softmax(logits):
    powers = numpy.exp(logits.astype(numpy.float64) - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def predicted(path, labels):
    """Returns the probabilities in a file of bert_train predict."""
    with open(path, encoding="utf-8", newline="") as file:
        return numpy.array([[float(row[f"p_{label}"]) for label in labels] for row in csv.DictReader(file)])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path, help="with run, merged, run.csv and merged.csv")
    parser.add_argument("base", type=pathlib.Path)
    parser.add_argument("rows", type=pathlib.Path, help="a text, a tab and its label on each line")
    options = parser.parse_args()
    lines = [line.split("\t") for line in options.rows.read_text(encoding="utf-8").splitlines()]
    texts, answers = [line[0] for line in lines], [line[1] for line in lines]
    adapters = options.folder / "run" / "model"
    tokenizer = transformers.AutoTokenizer.from_pretrained(adapters)
    config = transformers.AutoConfig.from_pretrained(adapters)
    labels = [config.id2label[i] for i in range(config.num_labels)]
    base = transformers.AutoModelForSequenceClassification.from_pretrained(options.base, config=config)
    adapted = peft.PeftModel.from_pretrained(base, str(adapters)).eval()
    logits = logits_of(adapted, tokenizer, texts)
    whole = transformers.AutoModelForSequenceClassification.from_pretrained(options.folder / "merged").eval()
    differences = {
        "of predictions of peft and bp": abs(softmax(logits) - predicted(options.folder / "run.csv", labels)).max(),
        "merged": abs(softmax(logits) - predicted(options.folder / "merged.csv", labels)).max(),
        "of logits of peft and the merged model": abs(logits - logits_of(whole, tokenizer, texts)).max(),
    }
    accuracy = 100 * sum(labels[int(one)] == answer for one, answer in zip(logits.argmax(axis=1), answers)) / len(texts)
    passed = all(value <= LARGEST_DIFFERENCE for value in differences.values())
    figures = ", ".join(f"{value:.1e} {name}" for name, value in differences.items())
    print(f"{'PASS' if passed else 'FAIL'}: {len(texts)} rows, differences {figures} ({LARGEST_DIFFERENCE:.0e} or less); "
          f"accuracy {accuracy:.2f}; peft {peft.__version__}")
    raise SystemExit(0 if passed else 1)


if __name__ == "__main__":
    main()
