"""Makes the golden files of this folder: small random models of transformers for token classification
(tokens_0, tokens_1), regression (regress_0, regress_1) and several labels a text (labels_0, labels_1), and its BertModel with
three heads for GAP, written in PyTorch (gap_concat, gap_mul, gap_segment).

    pip install torch==2.11.0 transformers==5.23.0 safetensors numpy
    python make.py

A folder has the initial model and expected.safetensors: for a batch of padded samples the hidden states, logits, loss and
gradients; then, for STEPS steps of AdamW with weight decay on such batches, each step's loss, and the last one's logits and
the parameters after it. The numbers are fp32 on CPU with plain ("eager") attention; dropout is off.
"""
import os
import random

import torch
from safetensors.torch import save_file
from transformers import BertConfig, BertForSequenceClassification, BertForTokenClassification, BertModel
from transformers.modeling_outputs import SequenceClassifierOutput

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS, ROWS, LONGEST = 20, 4, 11
LR, DECAY = 1e-2, 0.01


def make_config(draw, **head):
    heads = draw.choice([1, 2, 3])
    return BertConfig(
        vocab_size=draw.randrange(20, 40), hidden_size=heads * draw.choice([4, 8]), num_hidden_layers=draw.choice([1, 2]),
        num_attention_heads=heads, intermediate_size=draw.randrange(8, 40), max_position_embeddings=LONGEST + draw.randrange(4),
        layer_norm_eps=draw.choice([1e-12, 1e-5]), hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        attn_implementation="eager", **head)


class GapModel(torch.nn.Module):
    """Says what a pronoun stands for, by the last states p, a, b of pronoun, A and B."""

    def __init__(self, config, kind):
        super().__init__()
        self.config, self.kind = config, kind
        self.bert = BertModel(config, add_pooling_layer=kind == "segment")
        if kind == "mul":
            self.neither = torch.nn.Parameter(torch.randn(config.hidden_size))
        else:
            self.classifier = torch.nn.Linear(config.hidden_size * (3 if kind == "concat" else 1), 3)

    def forward(self, input_ids, attention_mask, labels, positions=None, token_type_ids=None, output_hidden_states=True):
        out = self.bert(input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids,
                        output_hidden_states=output_hidden_states)
        if self.kind == "segment":
            logits = self.classifier(out.pooler_output)
        else:
            p, a, b = (out.last_hidden_state[torch.arange(len(labels)), positions[:, k]] for k in range(3))
            if self.kind == "concat":
                logits = self.classifier(torch.cat([p, a, b], 1))
            else:
                products = [(p * other).sum(1) for other in (self.neither, a, b)]
                logits = torch.stack(products, 1) / self.config.hidden_size ** 0.5
        return SequenceClassifierOutput(loss=torch.nn.functional.cross_entropy(logits, labels), logits=logits,
                                        hidden_states=out.hidden_states)

    def save_pretrained(self, folder):
        self.config.save_pretrained(folder)
        save_file(self.state_dict(), os.path.join(folder, "model.safetensors"))


def make_batches(config, tags):
    """Returns all steps' samples, step after step; the targets of tokens are -100 for a third of them."""
    count = ROWS * STEPS
    lengths = torch.randint(1, LONGEST + 1, (count,))
    lengths[::ROWS] = LONGEST
    mask = (torch.arange(LONGEST)[None, :] < lengths[:, None]).long()
    ids = torch.randint(1, config.vocab_size, (count, LONGEST)) * mask
    if tags:
        targets = torch.randint(0, tags, (count, LONGEST))
        targets[torch.rand(targets.shape) < 1 / 3] = -100
        targets[mask == 0] = -100
    else:
        targets = torch.randn(count)
    return {"ids": ids, "lengths": lengths, "targets": targets}, mask


def make_label_batches(config):
    """Returns all steps' samples; a sample has each label or not, and the first has none."""
    batches, mask = make_batches(config, 0)
    batches["targets"] = (torch.rand(len(mask), config.num_labels) < 1 / 3).float()
    batches["targets"][0] = 0
    return batches, mask


def make_gap_batches(config, kind):
    """Returns all steps' samples: three different tokens of each are the mentions."""
    batches, mask = make_batches(config, 0)
    lengths = batches["lengths"].clamp_(min=3)
    mask = (torch.arange(LONGEST)[None, :] < lengths[:, None]).long()
    batches["ids"] = torch.randint(1, config.vocab_size, mask.shape) * mask
    batches["targets"] = torch.randint(0, 3, lengths.shape)
    positions = torch.stack([torch.randperm(int(length))[:3] for length in lengths])
    if kind == "segment":
        return batches | {"types": torch.zeros_like(mask).scatter_(1, positions, torch.tensor([[1, 2, 3]]).expand_as(positions))}, mask
    return batches | {"positions": positions}, mask


def write(name, model, tags=0, samples=None):
    model.eval()
    with torch.no_grad():  # larger than BERT's initial weights, so that every term matters
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    folder = os.path.join(HERE, name)
    model.save_pretrained(folder)
    batches, mask = samples or make_batches(model.config, tags)
    inputs = {"ids": "input_ids", "targets": "labels", "positions": "positions", "types": "token_type_ids"}
    excepted = [p for key, p in model.named_parameters() if key.endswith(".bias") or "LayerNorm" in key]
    decayed = [p for key, p in model.named_parameters() if not (key.endswith(".bias") or "LayerNorm" in key)]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": DECAY}, {"params": excepted, "weight_decay": 0.0}], lr=LR)
    expected, losses = dict(batches), []
    for step in range(STEPS):
        rows = slice(step * ROWS, (step + 1) * ROWS)
        own = {inputs[key]: values[rows] for key, values in batches.items() if key in inputs}
        out = model(attention_mask=mask[rows], output_hidden_states=True, **own)
        optimizer.zero_grad()
        out.loss.backward()
        real = mask[rows].bool()
        logits = out.logits.detach()[real] if tags else out.logits.detach()
        losses.append(out.loss.detach())
        if step == 0:
            expected |= {"hidden": out.hidden_states[-1].detach()[real], "logits": logits}
            expected |= {"grad." + key: p.grad.clone() for key, p in model.named_parameters()}
        optimizer.step()
    expected |= {"losses": torch.stack(losses), "last_logits": logits}
    expected |= {"last." + key: p.detach() for key, p in model.named_parameters()}
    save_file(expected, os.path.join(folder, "expected.safetensors"))
    print(name, model.config.hidden_size, [round(loss.item(), 4) for loss in losses])


for number in range(2):
    draw = random.Random(number)
    torch.manual_seed(number)
    tags = draw.randrange(3, 8)
    write(f"tokens_{number}", BertForTokenClassification(make_config(draw, num_labels=tags)), tags)
    write(f"regress_{number}",
          BertForSequenceClassification(make_config(draw, num_labels=1, problem_type="regression")))
for number, kind in enumerate(("concat", "mul", "segment")):
    torch.manual_seed(number)
    config = make_config(random.Random(number), **({"type_vocab_size": 4} if kind == "segment" else {}))
    write("gap_" + kind, GapModel(config, kind), samples=make_gap_batches(config, kind))
for number in range(2):
    torch.manual_seed(number)
    draw = random.Random(number)
    config = make_config(draw, num_labels=draw.randrange(1, 6), problem_type="multi_label_classification")
    write(f"labels_{number}", BertForSequenceClassification(config), samples=make_label_batches(config))
