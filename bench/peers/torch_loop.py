"""A hand-written PyTorch training loop of BERT with a classification head: what a good engineer
writes without a trainer. bf16 autocast, fused AdamW, dropout, clip at 1.0, warm-up and linear decay,
no compile. Prints one JSON object: the median of samples/s over windows of steps.

--ids takes an .npz of token ids [rows, longest], --pad where a text has ended, and labels [rows].
--transformers trains the class of transformers for a folder instead of the model below.
--weights and --rows let it train from given weights on given rows, a list for each step, and print each loss.
"""

import argparse
import json
import pathlib
import statistics
import time

import numpy
import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional

SHAPES = {"tiny": (2, 128, 2), "mini": (4, 256, 4), "base": (12, 768, 12)}


def read_shape(name):
    """A preset, or a folder with a Hugging Face config.json."""
    if name in SHAPES:
        layers, hidden, heads = SHAPES[name]
        return dict(layers=layers, hidden=hidden, heads=heads, intermediate=4 * hidden,
                    vocabulary=30522, positions=512, epsilon=1e-12)
    with open(f"{name}/config.json", encoding="utf-8") as file:
        config = json.load(file)
    return dict(layers=config["num_hidden_layers"], hidden=config["hidden_size"],
                heads=config["num_attention_heads"], intermediate=config["intermediate_size"],
                vocabulary=config["vocab_size"], positions=config["max_position_embeddings"],
                epsilon=config.get("layer_norm_eps", 1e-12))


class Attention(nn.Module):
    def __init__(self, shape, options):
        super().__init__()
        self.heads = shape["heads"]
        self.merged = options.qkv == "merged"
        self.plain = options.attention == "plain"
        self.dropout = options.dropout
        hidden = shape["hidden"]
        if self.merged:
            self.qkv = nn.Linear(hidden, 3 * hidden)
        else:
            self.query = nn.Linear(hidden, hidden)
            self.key = nn.Linear(hidden, hidden)
            self.value = nn.Linear(hidden, hidden)

    def forward(self, x, mask):
        batch, length, hidden = x.shape
        if self.merged:
            q, k, v = self.qkv(x).chunk(3, dim=-1)
        else:
            q, k, v = self.query(x), self.key(x), self.value(x)
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in (q, k, v))
        dropout = self.dropout if self.training else 0.0
        if self.plain:
            scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
            if mask is not None:
                scores = scores.masked_fill(~mask, float("-inf"))
            shares = functional.dropout(scores.softmax(dim=-1).to(v.dtype), dropout)
            context = shares @ v
        else:
            context = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask,
                                                              dropout_p=dropout)
        return context.transpose(1, 2).reshape(batch, length, hidden)


class Layer(nn.Module):
    def __init__(self, shape, options):
        super().__init__()
        hidden = shape["hidden"]
        self.attention = Attention(shape, options)
        self.output = nn.Linear(hidden, hidden)
        self.norm1 = nn.LayerNorm(hidden, eps=shape["epsilon"])
        self.up = nn.Linear(hidden, shape["intermediate"])
        self.down = nn.Linear(shape["intermediate"], hidden)
        self.norm2 = nn.LayerNorm(hidden, eps=shape["epsilon"])
        self.dropout = nn.Dropout(options.dropout)

    def forward(self, x, mask):
        x = self.norm1(x + self.dropout(self.output(self.attention(x, mask))))
        return self.norm2(x + self.dropout(self.down(functional.gelu(self.up(x)))))


class Bert(nn.Module):
    def __init__(self, shape, options, labels):
        super().__init__()
        hidden = shape["hidden"]
        self.words = nn.Embedding(shape["vocabulary"], hidden, padding_idx=0)
        self.positions = nn.Embedding(shape["positions"], hidden)
        self.types = nn.Embedding(2, hidden)
        self.norm = nn.LayerNorm(hidden, eps=shape["epsilon"])
        self.dropout = nn.Dropout(options.dropout)
        self.layers = nn.ModuleList(Layer(shape, options) for _ in range(shape["layers"]))
        self.pooler = nn.Linear(hidden, hidden)
        self.head = nn.Linear(hidden, labels)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)

    def forward(self, ids, mask):
        x = self.words(ids) + self.positions.weight[: ids.shape[1]] + self.types.weight[0]
        x = self.dropout(self.norm(x))
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(self.dropout(torch.tanh(self.pooler(x[:, 0]))))


class OfTransformers(nn.Module):
    """The class of transformers that classifies texts with the family of a folder, with the folder's weights."""

    def __init__(self, options):
        super().__init__()
        import transformers
        config = transformers.AutoConfig.from_pretrained(options.model)
        if options.dropout == 0:
            for name, value in config.to_dict().items():
                if "drop" in name and isinstance(value, float):
                    setattr(config, name, 0.0)
        self.model = transformers.AutoModelForSequenceClassification.from_pretrained(
            options.model, config=config, attn_implementation="eager" if options.attention == "plain" else "sdpa")

    def forward(self, ids, mask):
        return self.model(ids, None if mask is None else mask[:, 0, 0].long()).logits


def load_weights(model, path):
    """Of a Hugging Face model.safetensors; fails where one is missing or left over."""
    found = load_file(path)

    def take(module, name):
        module.weight.copy_(found.pop(name + ".weight"))
        if getattr(module, "bias", None) is not None:
            module.bias.copy_(found.pop(name + ".bias"))

    with torch.no_grad():
        for kind in ("word", "position", "token_type"):
            own = {"word": "words", "position": "positions", "token_type": "types"}[kind]
            take(getattr(model, own), f"bert.embeddings.{kind}_embeddings")
        take(model.norm, "bert.embeddings.LayerNorm")
        for number, layer in enumerate(model.layers):
            name = f"bert.encoder.layer.{number}."
            parts = [f"{name}attention.self.{part}" for part in ("query", "key", "value")]
            if layer.attention.merged:
                for end in ("weight", "bias"):
                    merged = torch.cat([found.pop(f"{part}.{end}") for part in parts])
                    getattr(layer.attention.qkv, end).copy_(merged)
            else:
                for part in parts:
                    take(getattr(layer.attention, part.rsplit(".", 1)[1]), part)
            for own, other in (("output", "attention.output.dense"), ("norm1", "attention.output.LayerNorm"),
                               ("up", "intermediate.dense"), ("down", "output.dense"), ("norm2", "output.LayerNorm")):
                take(getattr(layer, own), name + other)
        take(model.pooler, "bert.pooler.dense")
        take(model.head, "classifier")
    if found:
        raise SystemExit(f"{path} has more weights than the model: {', '.join(found)}")


def fused_adamw(groups, lr):
    return torch.optim.AdamW(groups, lr=lr, fused=True)


def make_optimizer(model, options, steps, make=fused_adamw):
    decayed, others = [], []
    for parameter in model.parameters():
        (decayed if parameter.dim() > 1 else others).append(parameter)
    groups = [dict(params=decayed, weight_decay=0.01), dict(params=others, weight_decay=0.0)]
    optimizer = make(groups, options.lr)
    warm_up = steps // 10

    def share(step):  # of the rate: up to 1, then down to 0
        if step < warm_up:
            return (step + 1) / (warm_up + 1)
        return max(0, steps - step) / (steps - warm_up)

    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, share)


def batches_of_epoch(lengths, options):
    """Rows in a random order; with buckets, those of a batch have similar lengths."""
    order = torch.randperm(len(lengths))
    if options.buckets:
        pools = order.split(options.buckets * options.batch)
        order = torch.cat([pool[lengths[pool].argsort()] for pool in pools])
    batches = [rows for rows in order.split(options.batch) if len(rows) == options.batch]
    return [batches[i] for i in torch.randperm(len(batches))]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ids", required=True)
    parser.add_argument("--model", default="tiny", help="a preset, or a folder with a config.json")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--lr", type=float, default=1e-4)
    parser.add_argument("--attention", choices=("sdpa", "plain"), default="sdpa")
    parser.add_argument("--qkv", choices=("merged", "separate"), default="merged")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="bf16")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--windows", type=int, default=10)
    parser.add_argument("--window-steps", type=int, default=20)
    parser.add_argument("--warm-up-steps", type=int, default=10)
    parser.add_argument("--trim", action="store_true", help="cut each batch to its longest text")
    parser.add_argument("--buckets", type=int, default=0, help="sort the texts of so many batches by length; with --trim")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--transformers", action="store_true", help="take the model's class and weights from a folder")
    parser.add_argument("--pad", type=int, default=0, help="the token id where a text has ended")
    parser.add_argument("--weights", help="model.safetensors to begin with")
    parser.add_argument("--rows", type=pathlib.Path, help="JSON: the rows of each step, and there are no others")
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    file = numpy.load(options.ids)
    ids, labels = torch.from_numpy(file["ids"]), torch.from_numpy(file["labels"])
    lengths = (ids != options.pad).sum(1)
    full = bool((ids != options.pad).all())  # no padding: attention needs no mask, which is faster
    model = OfTransformers(options) if options.transformers else Bert(read_shape(options.model), options, int(labels.max()) + 1)
    model = model.train().to(options.device)
    if options.weights:
        load_weights(model, options.weights)
    given = json.loads(options.rows.read_text()) if options.rows else []
    steps = len(given) or options.windows * options.window_steps + options.warm_up_steps
    optimizer, schedule = make_optimizer(model, options, steps)
    batches, loss_sum = [], 0.0

    def next_rows():
        if not batches:
            batches.extend(batches_of_epoch(lengths, options))
        return batches.pop()

    def on_device(tensor):  # a copy from pinned memory, for which the host does not wait
        return tensor.pin_memory().to("cuda", non_blocking=True) if options.device == "cuda" else tensor

    def step(rows):  # returns a tensor: the host need not wait for each loss
        batch = ids[rows]
        if options.trim:
            batch = batch[:, :int(lengths[rows].max())]
        batch = on_device(batch)
        mask = None if full else (batch != options.pad)[:, None, None, :]
        with torch.autocast(options.device, torch.bfloat16, enabled=options.precision == "bf16"):
            logits = model(batch, mask)
        loss = functional.cross_entropy(logits.float(), on_device(labels[rows]))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    if given:
        print(json.dumps({"losses": [step(torch.tensor(rows)).item() for rows in given]}))
        return
    for i in range(options.warm_up_steps):
        step(next_rows()).item()
        if i == 0:
            print("first step done", flush=True)
    rates = []
    for _ in range(options.windows):
        begin = time.perf_counter()
        loss_sum = sum(step(next_rows()) for _ in range(options.window_steps)).item()
        rates.append(options.window_steps * options.batch / (time.perf_counter() - begin))
    print(json.dumps({"samples_per_s": statistics.median(rates), "windows": rates,
                      "loss": loss_sum / options.window_steps, "attention": options.attention,
                      "qkv": options.qkv, "threads": torch.get_num_threads(),
                      "parameters": sum(p.numel() for p in model.parameters()),
                      "torch": torch.__version__}))


if __name__ == "__main__":
    main()
