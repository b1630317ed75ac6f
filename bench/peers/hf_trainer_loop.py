"""The Trainer of transformers on token ids, as torch_loop.py gets them: AdamW, clip at 1.0, warm-up and linear decay, each
batch padded to its longest text. Prints one JSON object: the median of samples/s over windows of steps."""

import argparse
import json
import statistics
import tempfile
import time

import numpy
import torch
import transformers


class Rows(torch.utils.data.Dataset):
    def __init__(self, path):
        file = numpy.load(path)
        self.rows = [row[row != 0].tolist() for row in file["ids"]]
        self.labels = file["labels"].tolist()

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        return {"input_ids": self.rows[at], "attention_mask": [1] * len(self.rows[at]), "labels": self.labels[at]}


class Clock(transformers.TrainerCallback):
    def __init__(self):
        self.times = []

    def on_step_end(self, args, state, control, **_):
        self.times.append(time.perf_counter())


def collate(samples):
    length = max(len(sample["input_ids"]) for sample in samples)

    def padded(name):
        return torch.tensor([sample[name] + [0] * (length - len(sample[name])) for sample in samples])

    return {"input_ids": padded("input_ids"), "attention_mask": padded("attention_mask"),
            "labels": torch.tensor([sample["labels"] for sample in samples])}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ids", required=True)
    parser.add_argument("--config", required=True, help="folder with a config.json")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--lr", type=float, default=1e-4)
    parser.add_argument("--windows", type=int, default=10)
    parser.add_argument("--window-steps", type=int, default=20)
    parser.add_argument("--warm-up-steps", type=int, default=10)
    options = parser.parse_args()
    transformers.set_seed(1)
    config = transformers.AutoConfig.from_pretrained(options.config, num_labels=2)
    model = transformers.AutoModelForSequenceClassification.from_config(config)
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        recipe = transformers.TrainingArguments(
            output_dir=folder, max_steps=options.windows * options.window_steps + options.warm_up_steps,
            per_device_train_batch_size=options.batch, learning_rate=options.lr, lr_scheduler_type="linear",
            warmup_steps=0.1, weight_decay=0.01, max_grad_norm=1.0, optim="adamw_torch_fused", save_strategy="no",
            report_to="none", disable_tqdm=True, use_cpu=options.device == "cpu", logging_strategy="no", bf16=options.precision == "bf16")
        transformers.Trainer(model=model, args=recipe, train_dataset=Rows(options.ids), data_collator=collate,
                             callbacks=[clock]).train()
    ends = clock.times[options.warm_up_steps - 1::options.window_steps]
    rates = [options.window_steps * options.batch / (b - a) for a, b in zip(ends, ends[1:])]
    print(json.dumps({"samples_per_s": statistics.median(rates), "windows": rates,
                      "threads": torch.get_num_threads(), "parameters": sum(p.numel() for p in model.parameters()),
                      "transformers": transformers.__version__}))


if __name__ == "__main__":
    main()
