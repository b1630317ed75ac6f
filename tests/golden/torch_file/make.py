"""Makes the files of this folder: what torch.save writes for small dictionaries of tensors. Each
tensor's elements count 0, 1, 2, ... in its own order, so that each value is unique to its index.

    pip install torch==2.11.0
    python make.py
"""
import collections
import os

import torch

here = os.path.dirname(os.path.abspath(__file__))


def counting(*shape, dtype=torch.float32):
    return torch.arange(torch.Size(shape).numel(), dtype=dtype).reshape(shape)


def save(name, tensors, **options):
    torch.save(tensors, os.path.join(here, name), **options)


# A state_dict: an OrderedDict with the attribute _metadata.
types = collections.OrderedDict([
    ("single", counting(2, 3)),
    ("half", counting(4, dtype=torch.float16)),
    ("brain", counting(3, dtype=torch.bfloat16)),
    ("double", counting(dtype=torch.float64)),
    ("long", counting(1, 5, dtype=torch.int64)),
    ("none", torch.empty(0, 4)),
    ("module.bert.embeddings.LayerNorm.gamma", counting(24, dtype=torch.float16)),
])
types._metadata = collections.OrderedDict([("", {"version": 1})])
save("types.bin", types)

# Views of one storage, which is saved once, and a parameter, in a plain dictionary.
base = counting(3, 4)
save("views.bin", {
    "base": base,
    "transposed": base.t(),
    "corner": base[1:, 1:3],
    "row": base[2],
    "expanded": torch.ones(1).expand(2, 3),
    "parameter": torch.nn.Parameter(counting(2)),
})

# Files that are refused: a checkpoint with more than tensors, and the format before PyTorch 1.6.
save("checkpoint.bin", {"model": types, "epoch": 3})
save("legacy.bin", {"a": counting(2)}, _use_new_zipfile_serialization=False)
