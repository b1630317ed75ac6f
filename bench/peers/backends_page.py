"""The rows of bench/run_backends as lines, as the page docs/backends.md, and as its chart."""

import contextlib
import dataclasses
import datetime
import io

from measuring import print_machine

INTRODUCTION = """# Backends

`bench/run_backends --markdown docs/backends.md` writes this page and its chart; do not edit them. It says what moved the
data, and how fast, on one machine on one day:

{machine}
- {date}, {minutes:.0f} minutes

Only the rows of one world compare: more ranks than cores share the cores. "3+1" is two hosts with three ranks and one,
both on this machine. `shm` is the memory that ranks of a host share, `gloo` bp's algorithms over Gloo's connections,
`gloo+shm` both, `nccl` NVIDIA's library, and `staged` memory of a device that goes through the host.
{gpus}

## All-reduce, sum

GB/s (10^9 bytes of one rank's buffer a second; each rank writes its buffer before each call). Every result was compared
with `==`.
"""

TRAINING = """
## Training

One epoch of `bert_train` on sentences of SST-2, with 32 sentences a step in every world, so all runs of a model train on
the same steps. `compute` is `--precision`, `wire` is `--wire`. The rate counts the time in training steps. The loss is
that of the last steps: types with fewer digits change it in its last digits only.

![Sentences a second by backend, world and precision](backends.svg)
"""


def size_text(size):
    return f"{size >> 20}M" if size >= 1 << 20 else f"{size >> 10}K"


@dataclasses.dataclass
class Collective:
    world: str
    backend: str
    wire: str
    figures: object  # {bytes: GB/s}, or why there are none

    @staticmethod
    def heading(sizes):
        return f"{'world':6}{'backend':10}{'wire':6}" + "".join(f"{size_text(size):>10}" for size in sizes) + "  GB/s"

    def line(self, sizes):
        start = f"{self.world:6}{self.backend:10}{self.wire:6}"
        if isinstance(self.figures, str):
            return start + self.figures
        return start + "".join(f"{self.figures[size]:10.3f}" for size in sizes)

    def cells(self, sizes):
        if isinstance(self.figures, str):
            return [self.world, self.backend, "any", self.figures] + [""] * (len(sizes) - 1)
        return [self.world, self.backend, self.wire] + [f"{self.figures[size]:.3f}" for size in sizes]


@dataclasses.dataclass
class Training:
    model: str
    rows: int
    world: str
    backend: str
    wire: str
    compute: str
    figures: object  # (samples/s, seconds, loss), or why there are none

    @staticmethod
    def heading():
        return (f"{'model':10}{'world':6}{'backend':10}{'compute':9}{'wire':6}{'rows/s':>9}{'s/epoch':>9}{'loss':>9}")

    def line(self):
        start = f"{self.model:10}{self.world:6}{self.backend:10}{self.compute:9}{self.wire:6}"
        if isinstance(self.figures, str):
            return start + self.figures
        return start + "{:9.0f}{:9.2f}{:9.4f}".format(*self.figures)

    def cells(self):
        if isinstance(self.figures, str):
            return [self.world, self.backend, "any", "any", self.figures, "", ""]
        rate, seconds, loss = self.figures
        return [self.world, self.backend, self.compute, self.wire, f"{rate:.0f}", f"{seconds:.2f}", f"{loss:.4f}"]


def table(heads, rows, left):
    rule = ["---" if column < left else "---:" for column in range(len(heads))]
    return "\n".join("| " + " | ".join(row) + " |" for row in [heads, rule, *rows]) + "\n"


def about_gpus(rows):
    ran = any(row.backend in ("nccl", "staged") and not isinstance(row.figures, str) for row in rows)
    return ("NCCL and staged memory ran on this machine's GPUs." if ran else
            "This machine has no GPU, so the rows of NCCL and of staged memory tell why they did not run. docs/gpu.md has\n"
            "figures of a GPU.")


def write(path, collectives, training, sizes, minutes):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        print_machine()
    machine = "\n".join(f"- {line}" for line in said.getvalue().splitlines())
    text = INTRODUCTION.format(machine=machine, date=datetime.date.today(), minutes=minutes,
                               gpus=about_gpus(collectives + training))
    text += "\n" + table(["world", "backend", "wire", *map(size_text, sizes)], [row.cells(sizes) for row in collectives], 3)
    text += TRAINING
    for model in dict.fromkeys(row.model for row in training):
        rows = [row for row in training if row.model == model]
        text += f"\n**{model}**, {rows[0].rows:,} sentences\n\n"
        text += table(["world", "backend", "compute", "wire", "sentences/s", "s an epoch", "loss"],
                      [row.cells() for row in rows], 4)
    path.write_text(text, encoding="utf-8")
    path.with_suffix(".svg").write_text(chart(training), encoding="utf-8")


COLOURS = {"fp32": "#0072b2", "fp16": "#e69f00", "bf16": "#009e73"}  # told apart by colour-blind readers too
WIDTH, LEFT, RIGHT, BAR, GAP = 760, 150, 90, 14, 12


def chart(training):
    """Bars of sentences a second: a panel a model, a group a world and backend, a bar a type of computation."""
    parts, y = [], 0
    for model in dict.fromkeys(row.model for row in training):
        ran = [row for row in training
               if row.model == model and row.wire == "fp32" and not isinstance(row.figures, str)]
        if not ran:
            continue
        y += 34
        parts.append(f'<text x="{LEFT}" y="{y - 12}" font-weight="bold">{model}, sentences a second, wire fp32</text>')
        most = max(row.figures[0] for row in ran)
        for world, backend in dict.fromkeys((row.world, row.backend) for row in ran):
            group = [row for row in ran if (row.world, row.backend) == (world, backend)]
            middle = y + len(group) * BAR / 2 + 4
            name = f"{world} rank{'' if world == '1' else 's'}, {backend}"
            parts.append(f'<text x="{LEFT - 8}" y="{middle:.0f}" text-anchor="end">{name}</text>')
            for row in group:
                length = row.figures[0] / most * (WIDTH - LEFT - RIGHT)
                parts.append(f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR - 2}" '
                             f'fill="{COLOURS[row.compute]}"/>')
                parts.append(f'<text x="{LEFT + length + 4:.1f}" y="{y + BAR - 4}" font-size="11">'
                             f'{row.figures[0]:.0f} {row.compute}</text>')
                y += BAR
            y += GAP
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 6}" font-family="sans-serif" '
            f'font-size="12"><rect width="100%" height="100%" fill="white"/>' + "".join(parts) + "</svg>\n")
