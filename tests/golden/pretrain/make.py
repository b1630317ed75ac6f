"""Makes the golden files of this folder: a small random BertForPreTraining with three token types,
what it computes for a padded batch with masked tokens, and the losses of 20 steps of AdamW.

    pip install torch==2.11.0 transformers==5.23.0 safetensors numpy
    python make.py

The numbers are fp32 on CPU with plain ("eager") attention; dropout is off.
"""
import os

import torch
from safetensors.torch import save_file
from transformers import BertConfig, BertForMaskedLM, BertForPreTraining

here = os.path.dirname(os.path.abspath(__file__))
torch.manual_seed(2)
config = BertConfig(
    vocab_size=41, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40,
    max_position_embeddings=14, type_vocab_size=3, layer_norm_eps=1e-12, hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0, attn_implementation="eager")
model = BertForPreTraining(config)
with torch.no_grad():  # larger than BERT's initial weights, so that every term matters
    for parameter in model.parameters():
        parameter.add_(torch.randn_like(parameter) * 0.2)
model.save_pretrained(here)

lengths = torch.tensor([7, 13, 3, 10, 8])
rows, length = len(lengths), int(lengths.max())
mask = (torch.arange(length)[None, :] < lengths[:, None]).long()
ids = torch.randint(5, 41, (rows, length)) * mask
types = torch.randint(0, 3, (rows, length))
positions = [[1, 4], [3, 5, 11], [1], [], [2, 6]]  # of the masked tokens; one sample has none
labels = torch.full((rows, length), -100)
for row, places in enumerate(positions):
    for place in places:
        labels[row, place] = torch.randint(5, 41, ())
next_sentence = torch.tensor([0, 1, 1, 0, 1])
is_masked = labels != -100


def run(model, **targets):
    return model(input_ids=ids, attention_mask=mask, token_type_ids=types, labels=labels, **targets)


def gradients(model, prefix):
    found = {prefix + name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()
    return found


out = run(model, next_sentence_label=next_sentence, output_hidden_states=True)
out.loss.backward()
expected = {
    "ids": ids, "types": types, "lengths": lengths, "next_sentence": next_sentence,
    "positions": torch.tensor([place for places in positions for place in places]),
    "masked_ids": labels[is_masked], "masked": torch.tensor([len(places) for places in positions]),
    "hidden": out.hidden_states[-1].detach()[mask.bool()],
    "logits": out.prediction_logits.detach()[is_masked],
    "next_logits": out.seq_relationship_logits.detach(), "loss": out.loss.detach().reshape(1),
    **gradients(model, "grad.")}

masked_model = BertForMaskedLM(config)  # the same weights, without pooler and seq_relationship
masked_model.load_state_dict(model.state_dict(), strict=False)
masked_loss = run(masked_model).loss
masked_loss.backward()
expected |= {"masked.loss": masked_loss.detach().reshape(1), **gradients(masked_model, "masked.grad.")}

optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01)
losses = []
for _ in range(20):
    loss = run(model, next_sentence_label=next_sentence).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.detach())
expected["losses"] = torch.stack(losses)
save_file(expected, os.path.join(here, "expected.safetensors"))
print(expected["loss"], expected["masked.loss"], losses[0], losses[-1])
