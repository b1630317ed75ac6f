"""Hosts for measurements: network namespaces. Two are the ends of one cable, a veth pair; more have a cable to a bridge
each. Needs root, ip and tc. Changes nothing outside the namespaces, which end with this program."""

import pathlib
import subprocess

RATE = 1e9  # bits per second, of whole frames, of a cable that is shaped
ADDRESSES = tuple(f"10.77.0.{number}" for number in range(1, 10))
NETWORK = "10.77.0.0/24"
CABLE = "cable"  # the name of a host's end


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


class Hosts:
    """Each namespace exists as long as its one process, which ends with this program."""

    def __init__(self, stack, count=2):
        self.is_shaped = False
        self.inside = [self.namespace(stack) for _ in range(count)]
        if count == 2:
            self.at(0, "ip", "link", "add", CABLE, "type", "veth", "peer", "name", CABLE, "netns", self.inside[1])
        else:
            self.connect_to_bridge(self.namespace(stack))
        for side, address in enumerate(ADDRESSES[:count]):
            self.at(side, "ip", "address", "add", f"{address}/24", "dev", CABLE)
            self.at(side, "ip", "link", "set", CABLE, "up")
            self.at(side, "ip", "link", "set", "lo", "up")

    def connect_to_bridge(self, switch):
        inside = ["nsenter", f"--net=/proc/{switch}/ns/net", "ip", "link"]
        command(*inside, "add", "bridge", "type", "bridge")
        for side, host in enumerate(self.inside):
            command(*inside, "add", f"port{side}", "type", "veth", "peer", "name", CABLE, "netns", host)
            command(*inside, "set", f"port{side}", "master", "bridge", "up")
        command(*inside, "set", "bridge", "up")

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
        for side in range(len(self.inside)):
            self.at(side, "ip", "link", "set", CABLE, "mtu", mtu)
            self.at(side, "tc", "qdisc", "replace", "dev", CABLE, "root", "tbf", "rate", f"{RATE:.0f}bit",
                    "burst", "128kb", "latency", "100ms")

    def bprun(self, program, folder, *ranks):
        """The words of bprun on side 0 before those of a program with so many ranks on the sides. bprun runs a script in
        `folder` instead of ssh, with a host and a command as arguments."""
        rsh = pathlib.Path(folder) / "enter"
        ways = "".join(f'{address}) exec {" ".join(self.enter(side))} sh -c "$2" ;;\n'
                       for side, address in enumerate(ADDRESSES[:len(self.inside)]))
        rsh.write_text(f'#!/bin/sh\ncase $1 in\n{ways}esac\necho "no host $1" >&2\nexit 255\n')
        rsh.chmod(0o755)
        named = ",".join(f"{address}:{count}" for address, count in zip(ADDRESSES, ranks))
        return [*self.enter(0), program, "-H", named, "--ssh", rsh, "--interface", NETWORK]

    def bytes_sent(self, side):
        """By this side over the cable, with headers."""
        for line in pathlib.Path(f"/proc/{self.inside[side]}/net/dev").read_text().splitlines():
            name, _, figures = line.partition(":")
            if name.strip() == CABLE:
                return int(figures.split()[8])
        raise Failed(f"side {side} has no cable")
