"""Makes the golden files of this folder: two small random models of transformers, a teacher of four layers and a student of
two with narrower states, and what distillation makes of a padded batch: the KL divergence at a temperature (Hinton et al.,
2015) and the difference of hidden states behind a projection (TinyBERT).

    pip install torch==2.11.0 transformers==5.23.0 safetensors numpy
    python make.py

expected.safetensors has the batch, the projection, the parts of the loss, the loss and its gradients. The numbers are fp32
on CPU with plain ("eager") attention; dropout is off.
"""
import os

import torch
from safetensors.torch import save_file
from torch.nn.functional import kl_div, linear, log_softmax, mse_loss, softmax
from transformers import BertConfig, BertForSequenceClassification

HERE = os.path.dirname(os.path.abspath(__file__))
TEMPERATURE, WEIGHT, HIDDEN = 3.0, 0.7, 0.4
ROWS, LONGEST, LABELS = 4, 9, 3


def make(name, **sizes):
    model = BertForSequenceClassification(BertConfig(
        vocab_size=30, max_position_embeddings=LONGEST, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        num_labels=LABELS, attn_implementation="eager", **sizes))
    with torch.no_grad():  # larger than BERT's initial weights, so that every term matters
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    model.save_pretrained(os.path.join(HERE, name))
    return model.eval()


torch.manual_seed(3)
teacher = make("teacher", hidden_size=12, num_hidden_layers=4, num_attention_heads=3, intermediate_size=20)
student = make("student", hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12)
lengths = torch.tensor([LONGEST, 4, 1, 6])
mask = (torch.arange(LONGEST)[None, :] < lengths[:, None]).long()
ids = torch.randint(1, 30, (ROWS, LONGEST)) * mask
labels = torch.randint(0, LABELS, (ROWS,))
projection = (torch.randn(12, 8) * 0.3).requires_grad_()

inputs = {"input_ids": ids, "attention_mask": mask, "labels": labels, "output_hidden_states": True}
with torch.no_grad():
    wanted = teacher(**inputs)
own = student(**inputs)
soft = TEMPERATURE ** 2 * kl_div(log_softmax(own.logits / TEMPERATURE, 1), softmax(wanted.logits / TEMPERATURE, 1),
                                 reduction="batchmean")
differences = []
for layer, states in enumerate(own.hidden_states):
    for row, length in enumerate(lengths):
        differences.append(mse_loss(linear(states[row, :length], projection), wanted.hidden_states[2 * layer][row, :length]))
hidden = torch.stack(differences).mean()
loss = (1 - WEIGHT) * own.loss + WEIGHT * soft + HIDDEN * hidden
loss.backward()
save_file({"ids": ids, "lengths": lengths, "labels": labels, "projection": projection.detach(), "soft": soft.detach(),
           "hidden": hidden.detach(), "loss": loss.detach(), "grad.distillation.projection": projection.grad}
          | {"grad." + key: p.grad.clone() for key, p in student.named_parameters()},
          os.path.join(HERE, "expected.safetensors"))
print(own.loss.item(), soft.item(), hidden.item(), loss.item())
