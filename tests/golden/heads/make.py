"""Makes the golden files of this folder: small random models of transformers for token classification
(tokens_0, tokens_1) and regression (regress_0, regress_1).

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
from transformers import BertConfig, BertForSequenceClassification, BertForTokenClassification

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


def write(name, model, tags=0):
    model.eval()
    with torch.no_grad():  # larger than BERT's initial weights, so that every term matters
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    folder = os.path.join(HERE, name)
    model.save_pretrained(folder)
    batches, mask = make_batches(model.config, tags)
    excepted = [p for key, p in model.named_parameters() if key.endswith(".bias") or "LayerNorm" in key]
    decayed = [p for key, p in model.named_parameters() if not (key.endswith(".bias") or "LayerNorm" in key)]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": DECAY}, {"params": excepted, "weight_decay": 0.0}], lr=LR)
    expected, losses = dict(batches), []
    for step in range(STEPS):
        rows = slice(step * ROWS, (step + 1) * ROWS)
        out = model(input_ids=batches["ids"][rows], attention_mask=mask[rows], labels=batches["targets"][rows],
                    output_hidden_states=True)
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
