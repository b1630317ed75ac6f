"""Makes the golden files of this folder: a small random BertForSequenceClassification, its logits,
loss and gradients for a padded batch, and the same with random token types.

    pip install torch==2.11.0 transformers==5.23.0 safetensors numpy
    python make.py

The numbers are fp32 on CPU with plain ("eager") attention; dropout is off (model.eval()).
"""
import os

import torch
from safetensors.torch import save_file
from transformers import BertConfig, BertForSequenceClassification

here = os.path.dirname(os.path.abspath(__file__))
torch.manual_seed(1)
config = BertConfig(
    vocab_size=37, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40,
    max_position_embeddings=12, num_labels=3, layer_norm_eps=1e-12,
    id2label={0: "no", 1: "perhaps", 2: "yes"}, label2id={"no": 0, "perhaps": 1, "yes": 2},
    attn_implementation="eager")
model = BertForSequenceClassification(config).eval()
with torch.no_grad():  # larger than BERT's initial weights, so that every term matters
    for parameter in model.parameters():
        parameter.add_(torch.randn_like(parameter) * 0.2)

lengths = torch.tensor([7, 11, 2, 9])
ids = torch.randint(1, 37, (4, 11))
mask = (torch.arange(11)[None, :] < lengths[:, None]).long()
ids = ids * mask
labels = torch.tensor([2, 0, 1, 2])

model.save_pretrained(here)


def write_expected(name, **types):
    """Writes what the model computes for the batch, with token types or without."""
    model.zero_grad()
    out = model(input_ids=ids, attention_mask=mask, labels=labels, output_hidden_states=True,
                **({"token_type_ids": types["types"]} if types else {}))
    out.loss.backward()
    expected = {"ids": ids, "lengths": lengths, "labels": labels, "logits": out.logits.detach(),
                "loss": out.loss.detach().reshape(1), **types}
    if types:
        expected["hidden"] = out.hidden_states[-1].detach()[mask.bool()]
    for parameter_name, parameter in model.named_parameters():
        expected["grad." + parameter_name] = parameter.grad
    save_file(expected, os.path.join(here, name))
    print(out.loss.item(), out.logits.tolist())


write_expected("expected.safetensors")
write_expected("expected_types.safetensors", types=torch.randint(0, 2, (4, 11)))
