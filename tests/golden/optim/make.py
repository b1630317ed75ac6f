"""Makes expected.safetensors of this folder: what optimizers make of parameters in 100 steps with given gradients.

    pip install torch==2.11.0 safetensors
    python make.py

"start.NAME" are the parameters, "gradients.NAME" those of each step. "OPTIMIZER.NAME" are the parameters after the
steps, computed in double precision: by torch.optim where it has the optimizer, and otherwise by the formulas of the
papers (Lion: Chen et al. 2023, algorithm 2; LAMB: You et al. 2019, algorithm 2, with bias correction). The rate falls
in a line. Only the matrices have weight decay. One of them is 0 at first.
"""
import os

import torch
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS, DECAY = 100, 0.1
SHAPES = {"dense.weight": (7, 9), "zeros.weight": (3, 5), "dense.bias": (9,)}

torch.manual_seed(1)
start = {name: torch.randn(shape) for name, shape in SHAPES.items()}
start["zeros.weight"].zero_()
# A slope that the noise does not hide, so that the parameters move.
gradients = {name: torch.randn(shape) + torch.randn((STEPS, *shape)) for name, shape in SHAPES.items()}


def rate(lr, step):
    return lr * (1 - step / STEPS)


def by_torch(make, lr):
    parameters = {name: value.double().requires_grad_() for name, value in start.items()}
    matrices = [p for p in parameters.values() if p.dim() == 2]
    biases = [p for p in parameters.values() if p.dim() == 1]
    optimizer = make([{"params": matrices, "weight_decay": DECAY}, {"params": biases, "weight_decay": 0}], lr)
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = rate(lr, step)
        for name, parameter in parameters.items():
            parameter.grad = gradients[name][step].double()
        optimizer.step()
    return {name: value.detach() for name, value in parameters.items()}


def by_formula(update, lr):
    result = {}
    for name, value in start.items():
        p, state = value.double(), {}
        for step in range(STEPS):
            p = update(p, gradients[name][step].double(), state, rate(lr, step), DECAY if p.dim() == 2 else 0, step + 1)
        result[name] = p
    return result


def lion(p, g, state, lr, decay, _step, beta1=0.9, beta2=0.99):
    m = state.get("m", torch.zeros_like(p))
    c = beta1 * m + (1 - beta1) * g
    state["m"] = beta2 * m + (1 - beta2) * g
    return p - lr * (torch.sign(c) + decay * p)


def lamb(p, g, state, lr, decay, step, beta1=0.9, beta2=0.999, epsilon=1e-6):
    state["m"] = beta1 * state.get("m", torch.zeros_like(p)) + (1 - beta1) * g
    state["v"] = beta2 * state.get("v", torch.zeros_like(p)) + (1 - beta2) * g * g
    u = state["m"] / (1 - beta1**step) / ((state["v"] / (1 - beta2**step)).sqrt() + epsilon) + decay * p
    ratio = 1.0
    if p.dim() == 2 and p.norm() > 0 and u.norm() > 0:
        ratio = p.norm() / u.norm()
    return p - lr * ratio * u


optim = torch.optim
ends = {
    "adamw": by_torch(lambda groups, lr: optim.AdamW(groups, lr=lr, betas=(0.8, 0.99), eps=1e-7), 0.01),
    "adam": by_torch(lambda groups, lr: optim.Adam(groups, lr=lr, betas=(0.8, 0.99), eps=1e-7), 0.01),
    "sgd": by_torch(lambda groups, lr: optim.SGD(groups, lr=lr), 0.01),
    "momentum": by_torch(lambda groups, lr: optim.SGD(groups, lr=lr, momentum=0.9), 0.01),
    "nesterov": by_torch(lambda groups, lr: optim.SGD(groups, lr=lr, momentum=0.9, nesterov=True), 0.01),
    "adadelta": by_torch(lambda groups, lr: optim.Adadelta(groups, lr=lr, rho=0.95), 1.0),
    "lion": by_formula(lion, 0.01),
    "lamb": by_formula(lamb, 0.01),
}
tensors = {"start." + name: value for name, value in start.items()}
tensors |= {"gradients." + name: value for name, value in gradients.items()}
for optimizer, end in ends.items():
    tensors |= {optimizer + "." + name: value.float() for name, value in end.items()}
    print(optimizer, {name: (value - start[name]).abs().max().item() for name, value in end.items()})
save_file(tensors, os.path.join(HERE, "expected.safetensors"))
