"""A cable with delay between two namespaces (namespace_hosts.py): a process forwards the packets of two tun devices, since
not each kernel has netem. The rate counts whole packets, and each direction has its own."""

import collections
import ctypes
import fcntl
import os
import select
import struct
import subprocess
import sys
import time

from namespace_hosts import ADDRESSES, CABLE, Failed, Refused

CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
QUEUE = 1 << 20  # bytes that wait for the cable; what comes then is dropped
PACKET = 65536


class Direction:
    """Packets on their way: each leaves when those before it have left, and arrives `delay` later."""

    def __init__(self, into, rate, delay):
        self.into, self.rate, self.delay = into, rate, delay
        self.free = 0.0
        self.arriving = collections.deque()

    def take(self, packet):
        now = time.monotonic()
        if (self.free - now) * self.rate / 8 > QUEUE:
            return
        self.free = max(self.free, now) + len(packet) * 8 / self.rate
        self.arriving.append((self.free + self.delay, packet))

    def deliver(self):
        """Returns the seconds until the next packet arrives, or None."""
        while self.arriving:
            left = self.arriving[0][0] - time.monotonic()
            if left > 0:
                return left
            os.write(self.into, self.arriving.popleft()[1])
        return None


def tun_in(process):
    """The descriptor of a new device in the namespace of a process."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/proc/{process}/ns/net", "rb") as namespace:
        if libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", CABLE.encode(), IFF_TUN | IFF_NO_PI))
    return device


def forward(processes, rate, delay):
    ends = [tun_in(process) for process in processes]
    ways = {ends[0]: Direction(ends[1], rate, delay), ends[1]: Direction(ends[0], rate, delay)}
    print("ready", flush=True)
    while True:
        waits = [left for left in (way.deliver() for way in ways.values()) if left is not None]
        for end in select.select(ends, [], [], min(waits, default=None))[0]:
            try:
                while True:
                    ways[end].take(os.read(end, PACKET))
            except BlockingIOError:
                pass


def replace(hosts, stack, rate, round_trip):
    """Puts this cable in the place of the hosts' own."""
    hosts.at(0, "ip", "link", "delete", CABLE)
    relay = stack.enter_context(subprocess.Popen(
        [sys.executable, __file__, *map(str, hosts.inside), str(rate), str(round_trip / 2)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    stack.callback(relay.kill)
    if relay.stdout.readline() != "ready\n":
        raise Refused(f"tun devices: {(relay.stderr.read().strip().splitlines() or ['no output'])[-1]}")
    for side, address in enumerate(ADDRESSES[:2]):
        hosts.at(side, "ip", "address", "add", f"{address}/24", "dev", CABLE, otherwise=Failed)
        hosts.at(side, "ip", "link", "set", CABLE, "up", otherwise=Failed)


if __name__ == "__main__":
    forward(sys.argv[1:3], float(sys.argv[3]), float(sys.argv[4]))
