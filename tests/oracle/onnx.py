"""Compares files of bert_train export with transformers, by onnxruntime. See tests/oracle/onnx."""

import argparse
import pathlib

import numpy
import onnxruntime
import torch
import transformers

LARGEST_DIFFERENCE = 1e-5  # of a logit
LARGEST_LOSS = 0.5  # points of accuracy, int8 to fp32


def session(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def encoded(tokenizer, texts):
    batch = tokenizer(texts, padding=True, truncation=True, max_length=128, return_tensors="np")
    batch.setdefault("token_type_ids", numpy.zeros_like(batch["input_ids"]))
    return {name: batch[name].astype(numpy.int64) for name in ("input_ids", "attention_mask", "token_type_ids")}


def logits_of(graph, tokenizer, texts, rows=64):
    return numpy.concatenate([graph.run(["logits"], encoded(tokenizer, texts[at:at + rows]))[0]
                              for at in range(0, len(texts), rows)])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("fp32", type=pathlib.Path)
    parser.add_argument("int8", type=pathlib.Path)
    parser.add_argument("rows", type=pathlib.Path, help="a text, a tab and its label on each line")
    options = parser.parse_args()
    lines = [line.split("\t") for line in options.rows.read_text(encoding="utf-8").splitlines()]
    texts, answers = [line[0] for line in lines], [line[1] for line in lines]
    tokenizer = transformers.AutoTokenizer.from_pretrained(options.model)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(options.model).eval()
    names = model.config.id2label
    with torch.no_grad():
        wanted = numpy.concatenate([
            model(**{name: torch.from_numpy(value) for name, value in encoded(tokenizer, texts[at:at + 64]).items()})
            .logits.numpy() for at in range(0, len(texts), 64)])
    full = logits_of(session(options.fp32), tokenizer, texts)
    small = logits_of(session(options.int8), tokenizer, texts)
    difference = float(numpy.abs(full - wanted).max())

    def accuracy(logits):
        found = [names[int(one)] for one in logits.argmax(axis=1)]
        return 100 * sum(a == b for a, b in zip(found, answers)) / len(answers)

    loss = abs(accuracy(full) - accuracy(small))
    passed = difference <= LARGEST_DIFFERENCE and loss <= LARGEST_LOSS
    sizes = [path.stat().st_size / 1e6 for path in (options.fp32, options.int8)]
    print(f"{'PASS' if passed else 'FAIL'}: {len(texts)} rows, logits of ONNX and transformers differ by {difference:.1e} "
          f"({LARGEST_DIFFERENCE:.0e} or less); accuracy {accuracy(full):.2f} in fp32, {accuracy(small):.2f} in int8 "
          f"(within {LARGEST_LOSS}); {sizes[0]:.1f} and {sizes[1]:.1f} MB; onnxruntime {onnxruntime.__version__}")
    raise SystemExit(0 if passed else 1)


if __name__ == "__main__":
    main()
