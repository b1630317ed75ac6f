"""Two network namespaces that a veth pair connects: two hosts with a cable between them, for measurements. Needs root,
ip and tc. Changes nothing outside the namespaces, which end with this program."""

import pathlib
import subprocess

RATE = 1e9  # bits per second, of whole frames, of a cable that is shaped
ADDRESSES = ("10.77.0.1", "10.77.0.2")
NETWORK = "10.77.0.0/24"
CABLE = "cable"  # the name of both ends


class Refused(Exception):
    """Why the hosts cannot be set up on this machine."""


class Failed(Exception):
    """Why a measurement failed."""


def command(*words, otherwise=Refused):
    try:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=300)
    except subprocess.TimeoutExpired:
        raise Failed(f"{words[-1]}: not done after 300 s") from None
    if done.returncode != 0:
        complaint = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()
        raise otherwise(f"{pathlib.Path(str(words[2])).name} ...: {' '.join(complaint[-2:])}")
    return done.stdout


class TwoHosts:
    """Each namespace exists as long as its one process, which ends with this program."""

    def __init__(self, stack):
        self.is_shaped = False
        self.inside = [self.namespace(stack) for _ in range(2)]
        self.at(0, "ip", "link", "add", CABLE, "type", "veth", "peer", "name", CABLE, "netns", self.inside[1])
        for side, address in enumerate(ADDRESSES):
            self.at(side, "ip", "address", "add", f"{address}/24", "dev", CABLE)
            self.at(side, "ip", "link", "set", CABLE, "up")
            self.at(side, "ip", "link", "set", "lo", "up")

    @staticmethod
    def namespace(stack):
        try:
            holder = stack.enter_context(subprocess.Popen(
                ["unshare", "--net", "sh", "-c", "echo here; exec cat"], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        except FileNotFoundError as absent:
            raise Refused(str(absent)) from None
        stack.callback(holder.stdin.close)
        if holder.stdout.readline() != "here\n":
            raise Refused(f"unshare --net: {holder.stderr.read().strip()}")
        return holder.pid

    def enter(self, side):
        return ["nsenter", f"--net=/proc/{self.inside[side]}/ns/net"]

    def at(self, side, *words, otherwise=Refused):
        return command(*self.enter(side), *words, otherwise=otherwise)

    def shape(self, mtu):
        self.is_shaped = True
        for side in range(2):
            self.at(side, "ip", "link", "set", CABLE, "mtu", mtu)
            self.at(side, "tc", "qdisc", "replace", "dev", CABLE, "root", "tbf", "rate", f"{RATE:.0f}bit",
                    "burst", "128kb", "latency", "100ms")

    def bprun(self, program, folder, here, there):
        """The words of bprun on side 0 before those of a program with so many ranks on the two sides. bprun runs a
        script in `folder` instead of ssh, with a host and a command as arguments."""
        rsh = pathlib.Path(folder) / "enter"
        rsh.write_text(f'#!/bin/sh\nexec {" ".join(self.enter(1))} sh -c "$2"\n')
        rsh.chmod(0o755)
        return [*self.enter(0), program, "-H", f"{ADDRESSES[0]}:{here},{ADDRESSES[1]}:{there}", "--ssh", rsh,
                "--interface", NETWORK]

    def bytes_sent(self, side):
        """By this side over the cable, with headers."""
        for line in pathlib.Path(f"/proc/{self.inside[side]}/net/dev").read_text().splitlines():
            name, _, figures = line.partition(":")
            if name.strip() == CABLE:
                return int(figures.split()[8])
        raise Failed(f"side {side} has no cable")
