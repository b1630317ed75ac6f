"""One rank of a PyTorch loop that trains torch_loop.py's model on several ranks by one of PyTorch's ways to divide the
training state, over gloo on the CPU, in fp32 and without dropout. RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT are set
as torchrun sets them. Rank 0 writes FOLDER/metrics.jsonl as bert_train does: a line for each step.

zero        the moments are divided (ZeroRedundancyOptimizer, with DistributedDataParallel)
fsdp2       everything is divided: fully_shard of each layer and of the model
fsdp2-kept  the same, but a layer's parameters stay gathered from its forward to its backward pass
"""

import argparse
import json
import pathlib
import time

import numpy
import torch
from torch import distributed, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch_loop import Bert, fused_adamw, load_weights, make_optimizer, read_shape


def zero_adamw(groups, lr):
    return ZeroRedundancyOptimizer(groups, torch.optim.AdamW, parameters_as_bucket_view=True, lr=lr, fused=True)


def divide(model, way):
    """The model as `way` trains it, and the maker of its optimizer."""
    if way.startswith("fsdp2"):
        mesh = init_device_mesh("cpu", (distributed.get_world_size(),))
        for layer in model.layers:
            fully_shard(layer, mesh=mesh, reshard_after_forward=way == "fsdp2")
        return fully_shard(model, mesh=mesh), fused_adamw
    return DistributedDataParallel(model, gradient_as_bucket_view=True), zero_adamw


def clip(model, most):
    """As nn.utils.clip_grad_norm_(), whose norm of divided gradients is this rank's part of it."""
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    norm = nn.utils.get_total_norm(gradients, foreach=True)
    if hasattr(norm, "full_tensor"):
        norm = norm.full_tensor()
    nn.utils.clip_grads_with_norm_(model.parameters(), most, norm, foreach=True)


def mean_of_ranks(loss):
    distributed.all_reduce(loss)
    return loss / distributed.get_world_size()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--way", choices=("zero", "fsdp2", "fsdp2-kept"), required=True)
    parser.add_argument("--ids", required=True)
    parser.add_argument("--model", type=pathlib.Path, required=True, help="a folder with config.json and model.safetensors")
    parser.add_argument("--batch", type=int, required=True, help="of a rank")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--lr", type=float, required=True)
    parser.add_argument("--rows", type=pathlib.Path, help="JSON: the rows of each step of each rank; the metrics then have "
                        "the mean loss of all ranks")
    options = parser.parse_args()
    options.qkv, options.attention, options.dropout = "merged", "sdpa", 0.0  # torch_loop.py's

    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    torch.manual_seed(1 + rank)
    file = numpy.load(options.ids)
    ids, labels = torch.from_numpy(file["ids"]), torch.from_numpy(file["labels"])
    model = Bert(read_shape(options.model), options, int(labels.max()) + 1).train()
    load_weights(model, options.model / "model.safetensors")
    model, make = divide(model, options.way)
    optimizer, schedule = make_optimizer(model, options, options.steps, make)
    given = json.loads(options.rows.read_text())[rank] if options.rows else None

    def step(number):
        rows = torch.tensor(given[number]) if given else torch.randint(len(ids), (options.batch,))
        loss = functional.cross_entropy(model(ids[rows], None), labels[rows])
        loss.backward()
        clip(model, 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
        return (mean_of_ranks(loss.detach()) if given else loss).item()

    metrics = None
    if rank == 0:
        options.folder.mkdir(parents=True)
        metrics = (options.folder / "metrics.jsonl").open("w")
    for number in range(options.steps):
        begin = time.perf_counter()
        loss = step(number)
        seconds = time.perf_counter() - begin
        if metrics:
            print(json.dumps({"step": number + 1, "samples": (number + 1) * options.batch * ranks, "loss": loss,
                              "samples_per_s": options.batch * ranks / seconds}), file=metrics, flush=True)
    distributed.barrier()
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
