"""Called by tests/oracle/model: BUILD_FOLDER MODEL_FOLDER DATA_FOLDER."""
import csv
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile

import torch
from safetensors.torch import load_file, save_file
from transformers import (AutoModelForSequenceClassification, AutoTokenizer, BertForSequenceClassification, BertModel,
                          __version__)
from transformers.utils import logging

build, minilm, data = (pathlib.Path(argument).absolute() for argument in sys.argv[1:4])
logging.disable_progress_bar()
scratch = pathlib.Path(tempfile.mkdtemp())
STEPS, BATCH, LR = 20, 16, 5e-5
figures, failed = {}, []  # the largest difference of each group


def check(group, what, difference, bound):
    """Checks that `difference` is at most `bound`. A bound of 0 requires equal bits."""
    ok = difference <= bound
    figures[group] = max(figures.get(group, 0.0), difference)
    print(f"  {'ok  ' if ok else 'FAIL'} {what}: {difference:.2e} (at most {bound:g})", flush=True)
    if not ok:
        failed.append(what)


def run(*command):
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)


def numbers(action, model, samples, *more):
    save_file(samples, scratch / "in")
    run(build / "tests/model_numbers", action, model, scratch / "in", scratch / "out", *more)
    return load_file(scratch / "out")


def difference(a, b):
    """Returns the largest absolute difference. It must be finite, because max(a, NaN) is a."""
    assert a.shape == b.shape, (a.shape, b.shape)
    largest = (a - b).abs().max().item()
    assert math.isfinite(largest), largest
    return largest


def sentences(count):
    lines = (data / "sst2/sentiment-dev").read_text().splitlines()[:count]
    texts, labels = zip(*(line.split("\t") for line in lines))
    return list(texts), [int(label == sorted(set(labels))[1]) for label in labels]


def samples_of(tokenizer, count):
    texts, labels = sentences(count)
    encoded = tokenizer(texts, padding=True, return_tensors="pt")
    return {"ids": encoded["input_ids"], "lengths": encoded["attention_mask"].sum(1), "labels": torch.tensor(labels)}


def mask_of(samples):
    return (torch.arange(samples["ids"].shape[1])[None, :] < samples["lengths"][:, None]).long()


def folder_with(name, weights):
    """Makes a copy of the model's folder with pytorch_model.bin instead of model.safetensors."""
    folder = scratch / name
    shutil.copytree(minilm, folder, ignore=shutil.ignore_patterns("model.safetensors"))
    torch.save(weights, folder / "pytorch_model.bin")
    return folder


def compare_hidden_states(samples):
    reference = BertModel.from_pretrained(minilm, attn_implementation="eager").eval()
    mask = mask_of(samples)

    def compare(what, model, folder):
        with torch.no_grad():
            expected = model(input_ids=samples["ids"], attention_mask=mask)
        of_bp = numbers("evaluate", folder, samples)
        check("hidden states", f"{what} hidden", difference(of_bp["hidden"], expected.last_hidden_state[mask.bool()]), 1e-5)
        check("hidden states", f"{what} pooled", difference(of_bp["pooled"], expected.pooler_output), 1e-5)
        return of_bp["hidden"]

    whole = compare("safetensors", reference, minilm)
    compare_token_types(reference, samples)
    weights = reference.state_dict()
    check("pytorch_model.bin from safetensors", "bin and safetensors", difference(compare("bin", reference, folder_with("bin", weights)), whole), 0)
    for name, dtype in (("f16", torch.float16), ("bf16", torch.bfloat16)):
        old = {}
        for key, value in reference.to(dtype).state_dict().items():
            key = key.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
            old["module.bert." + key] = value
        compare(name, reference.float(), folder_with(name, old))


def compare_token_types(reference, samples):
    typed = samples | {"types": torch.randint(0, 2, samples["ids"].shape, generator=torch.manual_seed(1))}
    mask = mask_of(samples)
    with torch.no_grad():
        expected = reference(input_ids=samples["ids"], attention_mask=mask, token_type_ids=typed["types"])
    of_bp = numbers("evaluate", minilm, typed)
    check("hidden states", "token types' hidden", difference(of_bp["hidden"], expected.last_hidden_state[mask.bool()]), 1e-5)
    check("hidden states", "token types' pooled", difference(of_bp["pooled"], expected.pooler_output), 1e-5)


def compare_training(samples):
    torch.manual_seed(1)
    model = BertForSequenceClassification.from_pretrained(
        minilm, attn_implementation="eager", num_labels=2, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0).train()
    head = {name: p.detach().clone() for name, p in model.named_parameters() if name.startswith("classifier.")}
    excepted = [p for name, p in model.named_parameters() if name.endswith(".bias") or "LayerNorm" in name]
    decayed = [p for name, p in model.named_parameters() if not (name.endswith(".bias") or "LayerNorm" in name)]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.01}, {"params": excepted, "weight_decay": 0.0}], lr=LR)
    of_bp = numbers("train", minilm, samples | head, BATCH, LR)
    mask, worst = mask_of(samples), {"logits": 0.0, "loss": 0.0, "gradient": 0.0}
    compared = 0
    for step in range(STEPS):
        rows = slice(step * BATCH, (step + 1) * BATCH)
        out = model(input_ids=samples["ids"][rows], attention_mask=mask[rows], labels=samples["labels"][rows])
        out.loss.backward()
        worst["logits"] = max(worst["logits"], difference(of_bp[f"{step}.logits"], out.logits.detach()))
        worst["loss"] = max(worst["loss"], difference(of_bp[f"{step}.loss"], out.loss.detach()))
        for name, parameter in model.named_parameters():
            if f"{step}.grad.{name}" in of_bp:
                worst["gradient"] = max(worst["gradient"], difference(of_bp[f"{step}.grad.{name}"], parameter.grad))
                compared += 1
            else:
                assert 0 < step < STEPS - 1 and not name.startswith(("classifier", "bert.pooler")), name
        optimizer.step()
        optimizer.zero_grad()
    names = [name for name, _ in model.named_parameters()]
    head = [name for name in names if name.startswith(("classifier", "bert.pooler"))]
    # The first and the last step have every gradient. The steps between them have those of the
    # head.
    assert compared == 2 * len(names) + (STEPS - 2) * len(head), compared
    print(f"  {compared} gradients")
    for what, value in worst.items():
        check(f"{STEPS} steps' logits, loss, gradients", f"{STEPS} steps' {what}", value, 1e-4)


def compare_export(tokenizer):
    """Reads the model that bert_train wrote with transformers."""
    train = data / "sst2/sentiment-dev"
    run(build / "bin/bert_train", train, "--dev", train, "--test", train, "--text", 1, "--label", 2, "--model", minilm,
        "--steps", 3, "--batch", 8, "--max-length", 64, "--store", scratch / "s.sqlite", "--run", scratch / "run")
    exported = scratch / "run/model"
    model, report = AutoModelForSequenceClassification.from_pretrained(
        exported, attn_implementation="eager", output_loading_info=True)
    assert not any(report.values()), f"transformers finds {report}"
    assert type(model).__name__ == "BertForSequenceClassification", type(model)
    model.eval()
    of_bp = AutoTokenizer.from_pretrained(exported)
    samples = samples_of(of_bp, 100)
    texts, _ = sentences(100)
    assert of_bp(texts)["input_ids"] == tokenizer(texts)["input_ids"], "the exported tokenizer gives other ids"
    lines = subprocess.run([str(build / "tests/print_ids"), str(exported / "vocab.txt"), "uncased", str(train), "1", "none"],
                           check=True, capture_output=True, text=True).stdout.splitlines()
    for text, line in zip(texts, lines):
        assert of_bp(text, add_special_tokens=False)["input_ids"] == [int(i) for i in line.split()], text
    with torch.no_grad():
        logits = model(input_ids=samples["ids"], attention_mask=mask_of(samples)).logits
    check("exported logits", "logits", difference(numbers("evaluate", exported, samples)["logits"], logits), 1e-5)
    with open(scratch / "run/predictions.csv", newline="") as file:
        rows = list(csv.DictReader(file))[:100]
    labels = [model.config.id2label[i] for i in range(model.config.num_labels)]
    probabilities = torch.tensor([[float(row["p_" + label]) for label in labels] for row in rows])
    check("exported logits", "predictions.csv", difference(probabilities, logits.softmax(1)), 1e-5)


tokenizer = AutoTokenizer.from_pretrained(minilm)
try:
    compare_hidden_states(samples_of(tokenizer, 100))
    compare_training(samples_of(tokenizer, STEPS * BATCH))
    compare_export(tokenizer)
finally:
    shutil.rmtree(scratch)
listed = ", ".join(f"{group} {value:.1e}" for group, value in figures.items())
print(f"{'FAIL' if failed else 'pass'}: largest differences from transformers {__version__}: {listed}")
sys.exit(bool(failed))
