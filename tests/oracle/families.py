"""Called by tests/oracle/families: BUILD_FOLDER ROWS, a file with a text, a tab and its label on each line."""
import pathlib
import string
import subprocess
import sys
import tempfile

import numpy
import onnxruntime
import torch
import transformers
from safetensors.torch import load_file, save_file

build, rows = (pathlib.Path(argument).absolute() for argument in sys.argv[1:3])
transformers.utils.logging.disable_progress_bar()
STEPS, BATCH, LR, LENGTH = 20, 8, 1e-3, 16
SHAPE = dict(vocab_size=128, num_labels=2)
SIZES = dict(hidden_size=48, num_hidden_layers=3, num_attention_heads=4, intermediate_size=96, hidden_dropout_prob=0.0,
             attention_probs_dropout_prob=0.0, max_position_embeddings=66)
AS_ROBERTA = dict(**SIZES, type_vocab_size=1, pad_token_id=1, layer_norm_eps=1e-5)
AS_MODERNBERT = dict(hidden_size=48, num_hidden_layers=3, num_attention_heads=4, intermediate_size=96, local_attention=8,
                     max_position_embeddings=66, pad_token_id=0, bos_token_id=2, eos_token_id=3, cls_token_id=2, sep_token_id=3)
AS_BART = dict(d_model=48, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, dropout=0.0,
               encoder_ffn_dim=96, decoder_ffn_dim=96, max_position_embeddings=66)
FAMILIES = {
    "bert": transformers.BertConfig(**SHAPE, **SIZES),
    "roberta": transformers.RobertaConfig(**SHAPE, **AS_ROBERTA),
    "xlm-roberta": transformers.XLMRobertaConfig(**SHAPE, **AS_ROBERTA),
    "camembert": transformers.CamembertConfig(**SHAPE, **AS_ROBERTA),
    "distilbert": transformers.DistilBertConfig(**SHAPE, dim=48, n_layers=3, n_heads=4, hidden_dim=96, dropout=0.0,
                                                attention_dropout=0.0, seq_classif_dropout=0.0,
                                                max_position_embeddings=66),
    "electra": transformers.ElectraConfig(**SHAPE, **SIZES, embedding_size=32),
    "albert": transformers.AlbertConfig(**SHAPE, **SIZES, embedding_size=32, classifier_dropout_prob=0.0),
    "mpnet": transformers.MPNetConfig(**SHAPE, **SIZES, pad_token_id=1, layer_norm_eps=1e-5),
    # Its texts are longer than the buckets of single distances.
    "deberta-v2": transformers.DebertaV2Config(**SHAPE, **SIZES, relative_attention=True, position_buckets=8,
                                               pos_att_type=["p2c", "c2p"], share_att_key=True, norm_rel_ebd="layer_norm",
                                               position_biased_input=False),
    # Its windows are narrower than the texts are long.
    "modernbert": transformers.ModernBertConfig(**SHAPE, **AS_MODERNBERT),
    "modernbert, mean": transformers.ModernBertConfig(**SHAPE, **AS_MODERNBERT, classifier_pooling="mean",
                                                      layer_types=["sliding_attention", "sliding_attention", "full_attention"]),
    "bart": transformers.BartConfig(**SHAPE, **AS_BART),
    "bart, scaled": transformers.BartConfig(**SHAPE, **AS_BART | dict(encoder_layers=1, decoder_layers=3, scale_embedding=True)),
}
BOUNDS = {"logits": 1e-4, "loss": 1e-4, "gradients": 1e-4, "saved": 1e-5, "onnx": 1e-5}
worst, failed = dict.fromkeys(BOUNDS, 0.0), []


def check(family, what, difference):
    ok = bool(difference <= BOUNDS[what])  # not for NaN
    worst[what] = max(worst[what], difference)
    print(f"  {'ok  ' if ok else 'FAIL'} {family} {what}: {difference:.2e} (at most {BOUNDS[what]:g})", flush=True)
    if not ok:
        failed.append(f"{family} {what}")


def run(*command):
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)


def numbers(scratch, action, model, samples, *more):
    save_file(samples, scratch / "in")
    run(build / "tests/model_numbers", action, model, scratch / "in", scratch / "out", *more)
    return load_file(scratch / "out")


def difference(a, b):
    assert a.shape == b.shape, (a.shape, b.shape)
    return (a - b).abs().max().item()


def samples_for(config):
    """Texts of 3 to LENGTH tokens, none of them padding. For a BART, the last one is the only one that ends texts."""
    generator = torch.manual_seed(1)
    count = STEPS * BATCH
    lengths = torch.randint(3, LENGTH + 1, (count,), generator=generator)
    ids = torch.randint(5, config.vocab_size, (count, LENGTH), generator=generator)
    ids[torch.arange(LENGTH)[None, :] >= lengths[:, None]] = config.pad_token_id
    if config.is_encoder_decoder:
        ids[torch.arange(count), lengths - 1] = config.eos_token_id
    return {"ids": ids, "lengths": lengths, "labels": torch.randint(0, 2, (count,), generator=generator)}


def mask_of(samples):
    return (torch.arange(samples["ids"].shape[1])[None, :] < samples["lengths"][:, None]).long()


def write_vocabulary(config, folder):
    special = {0: ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], 1: ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"]}
    letters = [*string.ascii_lowercase, *string.digits]
    words = special[config.pad_token_id] + letters + ["##" + letter for letter in letters] + list(string.punctuation)
    words += [f"[unused{i}]" for i in range(config.vocab_size - len(words))]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")


def compare_training(family, model, folder, scratch):
    samples = samples_for(model.config)
    of_bp = numbers(scratch, "train", folder, samples, BATCH, LR)
    excepted = [p for n, p in model.named_parameters() if n.endswith(".bias") or "norm" in n.lower()]
    decayed = [p for p in model.parameters() if not any(p is other for other in excepted)]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.01}, {"params": excepted, "weight_decay": 0.0}], lr=LR)
    mask, largest, compared = mask_of(samples), dict(logits=0.0, loss=0.0, gradients=0.0), 0
    for step in range(STEPS):
        part = slice(step * BATCH, (step + 1) * BATCH)
        out = model(input_ids=samples["ids"][part], attention_mask=mask[part], labels=samples["labels"][part])
        out.loss.backward()
        largest["logits"] = max(largest["logits"], difference(of_bp[f"{step}.logits"], out.logits.detach()))
        largest["loss"] = max(largest["loss"], difference(of_bp[f"{step}.loss"], out.loss.detach()))
        for name, parameter in model.named_parameters():
            if f"{step}.grad.{name}" in of_bp:
                compared += 1
                largest["gradients"] = max(largest["gradients"], difference(of_bp[f"{step}.grad.{name}"], parameter.grad))
        optimizer.step()
        optimizer.zero_grad()
    assert compared >= 2 * len(list(model.named_parameters())), compared
    for what, value in largest.items():
        check(family, what, value)


def compare_saved(family, folder, scratch):
    run(build / "bin/bert_train", rows, "--dev", rows, "--test", rows, "--text", 1, "--label", 2, "--model", folder, "--steps", 3,
        "--batch", 8, "--max-length", 32, "--limit", 200, "--store", scratch / "store", "--run", scratch / "run")
    saved = scratch / "run/model"
    model, report = transformers.AutoModelForSequenceClassification.from_pretrained(saved, output_loading_info=True)
    assert not any(report.values()), f"transformers finds {report}"
    model.eval()
    samples = samples_for(model.config)
    mask = mask_of(samples)
    with torch.no_grad():
        logits = model(input_ids=samples["ids"], attention_mask=mask).logits
    check(family, "saved", difference(numbers(scratch, "evaluate", saved, samples)["logits"], logits))
    run(build / "bin/bert_train", "export", scratch / "run", "--out", scratch / "model.onnx")
    graph = onnxruntime.InferenceSession(str(scratch / "model.onnx"), providers=["CPUExecutionProvider"])
    given = {"input_ids": samples["ids"].numpy(), "attention_mask": mask.numpy()}
    given["token_type_ids"] = numpy.zeros_like(given["input_ids"])
    names = [one.name for one in graph.get_inputs()]
    found = graph.run(["logits"], {name: given[name] for name in names})[0]
    check(family, "onnx", difference(torch.from_numpy(found), logits))


for family, config in FAMILIES.items():
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        torch.manual_seed(7)
        model = transformers.AutoModelForSequenceClassification.from_config(config, attn_implementation="eager").train()
        folder = scratch / "model"
        model.save_pretrained(folder)
        write_vocabulary(config, folder)
        compare_training(family, model, folder, scratch)
        compare_saved(family, folder, scratch)
listed = ", ".join(f"{what} {value:.1e}" for what, value in worst.items())
print(f"{'FAIL: ' + ', '.join(failed) if failed else 'PASS'}: largest differences from transformers {transformers.__version__}: {listed}")
sys.exit(bool(failed))
