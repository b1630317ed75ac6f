"""Compares fine-tuning by the Trainer of transformers with runs of bert_train. See tests/oracle/trainer."""

import argparse
import json
import pathlib
import statistics
import tempfile
import time

import torch
import transformers

MOST_BELOW = 0.5  # points of accuracy by which bert_train's median may be below the Trainer's


def read(path):
    return [line.rsplit("\t", 1) for line in path.read_text(encoding="utf-8").splitlines()]


class Rows(torch.utils.data.Dataset):
    def __init__(self, tokenizer, rows, labels):
        self.tokens = tokenizer([text for text, _ in rows], truncation=True, max_length=64)
        self.labels = [labels.index(label) for _, label in rows]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, at):
        return {**{name: values[at] for name, values in self.tokens.items()}, "labels": self.labels[at]}


def fine_tune(options, seed, tokenizer, train, dev):
    transformers.set_seed(seed)  # the classifier's first weights, too
    model = transformers.AutoModelForSequenceClassification.from_pretrained(options.model, num_labels=2)
    with tempfile.TemporaryDirectory() as folder:
        recipe = transformers.TrainingArguments(
            output_dir=folder, seed=seed, num_train_epochs=1, per_device_train_batch_size=32, learning_rate=5e-5,
            lr_scheduler_type="linear", warmup_steps=0.1, weight_decay=0.01, max_grad_norm=1.0, optim="adamw_torch",
            per_device_eval_batch_size=64, save_strategy="no", report_to="none", disable_tqdm=True, use_cpu=True)
        trainer = transformers.Trainer(
            model=model, args=recipe, train_dataset=train, eval_dataset=dev,
            data_collator=transformers.DataCollatorWithPadding(tokenizer),
            compute_metrics=lambda found: {"accuracy": float((found.predictions.argmax(-1) == found.label_ids).mean())})
        trainer.train()
        return 100 * trainer.evaluate()["eval_accuracy"]


def listed(accuracies):
    return ", ".join(f"{one:.2f}" for one in accuracies)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("train", type=pathlib.Path)
    parser.add_argument("dev", type=pathlib.Path)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("runs", type=pathlib.Path, nargs="+", help="runs of bert_train with the seeds 1, 2, ...")
    options = parser.parse_args()
    summaries = [json.loads((run / "summary.json").read_text()) for run in options.runs]
    ours = [100 * summary["dev"]["accuracy"] for summary in summaries]
    tokenizer = transformers.AutoTokenizer.from_pretrained(options.model)
    rows = read(options.train)
    labels = sorted({label for _, label in rows})
    train, dev = Rows(tokenizer, rows, labels), Rows(tokenizer, read(options.dev), labels)
    begin = time.monotonic()
    theirs = [fine_tune(options, seed, tokenizer, train, dev) for seed in range(1, len(ours) + 1)]
    seconds = (time.monotonic() - begin) / len(theirs)
    median, other = statistics.median(ours), statistics.median(theirs)
    passed = median >= other - MOST_BELOW
    print(f"{'PASS' if passed else 'FAIL'}: {len(rows)} rows, one epoch: median dev accuracy {median:.2f} "
          f"({listed(ours)}), Trainer of transformers {transformers.__version__} {other:.2f} ({listed(theirs)}, "
          f"{seconds:.0f} s a run); at most {MOST_BELOW} points below")
    raise SystemExit(0 if passed else 1)


if __name__ == "__main__":
    main()
