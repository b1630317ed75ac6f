"""bert_train --shard beside PyTorch's two ways to divide the training state, over gloo on the CPU: fully_shard (FSDP2)
and ZeroRedundancyOptimizer with DistributedDataParallel. All train one model on the same texts of one length, from the
same weights, in fp32, with AdamW, clipping and no dropout; before that, their losses on the same batches agree."""

import contextlib
import dataclasses
import json
import statistics
import sys

from checks import Check
from measuring import spread
from namespace_hosts import Failed, Hosts, Refused
from same_losses import STEPS, TOLERANCE, first_difference, largest_share, our_losses, starting_model
from train_compare import LR
from training_jobs import Cable, OneHost, has_shard, memory_at, of_bp, of_torch, records_of, run_to_end, taken_by

WAYS = {"zero": "ZeroRedundancyOptimizer", "fsdp2": "FSDP2", "fsdp2-kept": "FSDP2 without resharding"}
JUDGE = "fsdp2"
MOST_TIME = {"one host": {"optimizer": 0.5, "gradients": 0.5, "parameters": 0.5},
             "cable": {"optimizer": 0.55, "parameters": 0.8}}  # of FSDP2's
MOST_MEMORY = 1.0  # of FSDP2's
MOST_SENT = {"optimizer": 1.0, "parameters": 1.5}  # of the bytes of all parameters, by a host in a step
MEMORY_STEP = 8
MTU = 1500


class Peers:
    """The model and the texts on which both sides train, in `folder`."""

    def __init__(self, folder, model, options):
        from safetensors.numpy import load_file
        self.folder, self.options = folder, options
        self.texts = [folder / "train.tsv", "--dev", folder / "dev.tsv", "--test", folder / "dev.tsv", "--header", "no",
                      "--text", "1", "--label", "2", "--vocab", folder / "vocab.txt", "--max-length", options.tokens,
                      "--store", folder / "store.sqlite"]
        self.start = starting_model(folder, model, self.texts)
        (folder / "of-tiny").mkdir()
        self.tiny = starting_model(folder / "of-tiny", "tiny", self.texts)
        self.bytes_of_parameters = sum(tensor.nbytes for tensor in load_file(self.start / "model.safetensors").values())

    def job(self, place, name, steps, start):
        """Of bert_train --shard `name`, or of one of WAYS."""
        return (self.theirs if name in WAYS else self.ours)(place, name, steps, start)

    def ours(self, place, shard, steps, start):
        return of_bp(place, self.folder, *self.texts, "--model", start, "--dropout", 0, "--lr", LR, "--batch",
                     self.options.peer_batch, "--steps", steps, "--eval-every", steps, "--save-every", "none", "--shard",
                     shard)

    def theirs(self, place, way, steps, start, *more):
        return of_torch(place, self.folder, "--way", way, "--ids", self.folder / "ids.npz", "--model", start,
                        "--batch", self.options.peer_batch, "--steps", steps, "--lr", LR, *more)

    def require_same_losses(self, place):
        """Ends the comparison where a way computes something else than bert_train."""
        mine, rows = our_losses(self.folder, self.start, self.texts,
                                ["--batch", str(self.options.peer_batch), "--lr", LR, "--precision", "fp32"],
                                place.bprun(self.folder), place.ranks)
        (self.folder / "rows.json").write_text(json.dumps(rows))
        shares = []
        for way, title in WAYS.items():
            job = self.theirs(place, way, STEPS, self.start, "--rows", self.folder / "rows.json")
            run_to_end(job)
            theirs = [record["loss"] for record in records_of(job)]
            if why := first_difference(mine, theirs, TOLERANCE["fp32"]):
                sys.exit(f"{title} computes something else than bert_train: {why}")
            shares.append(largest_share(mine, theirs))
        print(f"  {place.title}: {STEPS} losses from {mine[0]:.4f} to {mine[-1]:.4f} agree to {max(shares):.1e} "
              f"({TOLERANCE['fp32']:.1e} or less)", flush=True)

    def measure(self, place, shards):
        """What each side takes. Their runs take turns; ways that are not judged have one."""
        steps = self.options.peer_windows * self.options.peer_window
        names, judged = [*shards, *WAYS], [*shards, JUDGE]
        runs = {name: [] for name in names}
        for turn in range(self.options.peer_runs):
            for name in judged[turn % len(judged):] + judged[:turn % len(judged)] if turn else names:
                runs[name].append(taken_by(self.job(place, name, steps, self.start), place, steps, MEMORY_STEP,
                                           self.options.peer_window))
        found = {}
        for name in names:
            of_tiny = memory_at(self.job(place, name, steps, self.tiny), MEMORY_STEP)
            found[name] = Side(runs[name], of_tiny, self.bytes_of_parameters)
            print(f"  {place.title}, {WAYS.get(name, f'bert_train --shard {name}')}: {found[name]}", flush=True)
        return found

    def compare(self, place, kind):
        asked = MOST_TIME[kind]
        found = self.measure(place, [shard for shard in asked if has_shard(shard)])
        for shard, most in asked.items():
            what = f"{self.options.peer_model}, {place.title}, --shard {shard} / FSDP2: "
            if shard in found:
                yield from judge(what, found[shard], found[JUDGE], most, MOST_SENT[shard] if kind == "cable" else None)
            else:
                yield Check(what + "time of a step", f"bert_train has no --shard {shard}", f"{most} or less")


@dataclasses.dataclass
class Side:
    """What one side took, by the median of its runs."""
    runs: list
    of_tiny: float  # GiB
    bytes_of_parameters: int

    def step(self):
        return statistics.median(1e3 * run.step for run in self.runs)

    def memory(self):
        return statistics.median(run.memory for run in self.runs)

    def beyond_tiny(self):
        return self.memory() - self.of_tiny

    def sent(self):
        return statistics.median(run.sent for run in self.runs) / self.bytes_of_parameters

    def __str__(self):
        steps = spread([1e3 * run.step for run in self.runs], 0)
        sent = f", {self.sent():.2f} times the parameters sent" if self.sent() else ""
        return f"{steps} ms a step, {self.memory():.2f} GiB, {self.beyond_tiny():.2f} GiB beyond tiny{sent}"


def judge(what, own, other, most_time, most_sent):
    def compare(figure, mine, theirs, unit, most, digits=2):
        ratio = mine / theirs
        return Check(what + figure, f"{mine:.{digits}f} / {theirs:.{digits}f} {unit} = {ratio:.2f}", f"{most} or less",
                     ratio <= most)

    yield compare("time of a step", own.step(), other.step(), "ms", most_time, digits=0)
    yield compare("PSS", own.memory(), other.memory(), "GiB", MOST_MEMORY)
    yield compare("PSS beyond tiny", own.beyond_tiny(), other.beyond_tiny(), "GiB", MOST_MEMORY)
    if most_sent is not None:
        yield Check(what + "bytes that a host sends in a step, in bytes of all parameters",
                    f"{own.sent():.2f} / {other.sent():.2f}", f"{most_sent} or less", own.sent() <= most_sent)


def on_one_host(folder, model, options):
    peers = Peers(folder, model, options)
    for ranks in options.peer_ranks:
        peers.require_same_losses(OneHost(ranks))
        yield from peers.compare(OneHost(ranks), "one host")


def over_a_cable(folder, model, options):
    peers = Peers(folder, model, options)
    with contextlib.ExitStack() as stack:
        try:
            hosts = Hosts(stack)
            hosts.shape(MTU)
        except (Refused, Failed) as why:
            yield Check(f"{options.peer_model}, {Cable.title}", str(why), "-")
            return
        yield from peers.compare(Cable(hosts), "cable")
