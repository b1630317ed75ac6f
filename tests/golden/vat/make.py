"""Makes the golden files of this folder: a small random BertForSequenceClassification of transformers, and what virtual
adversarial training (Miyato et al., 2018) makes of a batch of padded samples and given noise.

    pip install torch==2.11.0 transformers==5.23.0 safetensors numpy
    python make.py

expected.safetensors has the batch (ids, lengths, labels), the noise, the perturbation, the mean divergence, the loss
(cross entropy plus WEIGHT times the divergence) and its gradients. The numbers are computed in double precision, with
plain ("eager") attention and without dropout, and saved as fp32: in fp32 the gradient at a small perturbation, which is
a difference of nearly equal probabilities, depends on the processor in its fourth digit.
"""
import os

import torch
from safetensors.torch import save_file
from torch.nn.functional import kl_div, log_softmax, softmax
from transformers import BertConfig, BertForSequenceClassification

HERE = os.path.dirname(os.path.abspath(__file__))
XI, EPS, WEIGHT = 0.1, 2.0, 0.7
ROWS, LONGEST, LABELS = 4, 9, 3

torch.manual_seed(1)
model = BertForSequenceClassification(BertConfig(
    vocab_size=30, hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20,
    max_position_embeddings=LONGEST, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, num_labels=LABELS,
    attn_implementation="eager"))
model.eval()
with torch.no_grad():  # larger than BERT's initial weights, so that every term matters
    for parameter in model.parameters():
        parameter.add_(torch.randn_like(parameter) * 0.2)
model.save_pretrained(HERE)

lengths = torch.tensor([LONGEST, 4, 1, 6])
mask = (torch.arange(LONGEST)[None, :] < lengths[:, None]).long()
ids = torch.randint(1, 30, (ROWS, LONGEST)) * mask
labels = torch.randint(0, LABELS, (ROWS,))
noise = (torch.randn(ROWS, LONGEST, 12) * mask[:, :, None]).double()
model.double()


def normalized(x):
    """Each sample's numbers with the Euclidean length 1."""
    x = x / (1e-12 + x.abs().amax((1, 2), keepdim=True))
    return x / (1e-6 + x.square().sum((1, 2), keepdim=True)).sqrt()


def divergence(target, perturbation):
    embeddings = model.bert.embeddings.word_embeddings(ids) + perturbation
    logits = model(inputs_embeds=embeddings, attention_mask=mask).logits
    return kl_div(log_softmax(logits, 1), softmax(target, 1), reduction="batchmean")


out = model(input_ids=ids, attention_mask=mask, labels=labels)
target = out.logits.detach()
start = (XI * normalized(noise)).requires_grad_()
(gradient,) = torch.autograd.grad(divergence(target, start), start)
perturbation = EPS * normalized(gradient * mask[:, :, None])
change = divergence(target, perturbation)
loss = out.loss + WEIGHT * change
loss.backward()
real = mask.bool()
numbers = {"noise": noise[real], "perturbation": perturbation[real], "divergence": change, "loss": loss}
numbers |= {"grad." + key: p.grad for key, p in model.named_parameters()}
save_file({"ids": ids, "lengths": lengths, "labels": labels}
          | {name: number.detach().float().clone() for name, number in numbers.items()},
          os.path.join(HERE, "expected.safetensors"))
print(out.loss.item(), change.item(), loss.item())
