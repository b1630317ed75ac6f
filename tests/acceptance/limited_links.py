#!/usr/bin/env python3
"""Shows that jobs lose nothing at their end on links with limits, and what the end costs.

    limited_links.py BUILD-FOLDER [JOBS]

runs JOBS jobs (default: 20) per link, one after another. Each job has one rank on each of two hosts of with_hosts, and
ends with an all_reduce of 16 MB and finish(). Its time is that of the whole job, less the time of a job of 4 bytes.
It must exit with 0

  - on a link of R bit/s one way, within the time of its bytes at R plus a second,
  - on a link with loss or delay, within twice the time of a plain TCP connection that carries as many bytes both ways
    in that minute, plus a second. One runs before each job. With loss their times differ tenfold by chance, so the
    longest of that minute counts.

Prints a row per link, and exits with 1 unless all hold; with 77 if this machine cannot make such hosts.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COUNT = 4_000_000  # elements of four bytes
ON_THE_WIRE = 1514 / 1448  # bytes of a full frame for each byte that it carries
LINKS = {
    "20 Mbit/s": (["--rate", "b=20mbit"], 20e6),
    "100 Mbit/s": (["--rate", "b=100mbit"], 100e6),
    "1000 Mbit/s": (["--rate", "b=1gbit"], 1e9),
    "3 % loss": (["--loss", "3"], None),
    "80 ms": (["--delay", "20"], None),  # there and back over two cables
}

# One end of a plain TCP connection: sends and receives as many bytes at the same time.
PLAIN = """
import socket, sys, threading, time
count, side = int(sys.argv[1]), sys.argv[2]
if side == "listen":
    listener = socket.create_server(("", 7000))
    print("ready", flush=True)
    end, _ = listener.accept()
else:
    end = socket.create_connection((side, 7000))
begin = time.monotonic()
def send():
    end.sendall(bytes(count))
    end.shutdown(socket.SHUT_WR)
sender = threading.Thread(target=send)
sender.start()
while end.recv(1 << 20):
    pass
sender.join()
print(time.monotonic() - begin)
"""


def at(host, *words):
    pid = pathlib.Path(os.environ["BP_HOSTS"], f"{host}.pid").read_text().strip()
    return ["nsenter", "--target", pid, "--all", *words]


def plain_seconds():
    words = ["python3", "-c", PLAIN, str(4 * COUNT)]
    with subprocess.Popen(at("b", *words, "listen"), stdout=subprocess.PIPE, text=True) as far:
        far.stdout.readline()
        near = subprocess.run(at("a", *words, "b"), capture_output=True, text=True, check=True, timeout=300)
        return max(float(near.stdout), float(far.stdout.read()))


def job_seconds(build, count):
    begin = time.monotonic()
    job = subprocess.run([build / "bin/bprun", "-H", "a:1,b:1", build / "tests/rank_program", "last", "all_reduce",
                          str(count)], capture_output=True, text=True, check=False, timeout=600)
    if job.returncode != 0 or job.stdout.count("ended after") != 2:
        print(job.stderr, file=sys.stderr)
        return None
    return time.monotonic() - begin


def inside(build, jobs, rate):
    """On head: prints the figures of each job."""
    empty = statistics.median(filter(None, (job_seconds(build, 1) for _ in range(3))))
    plain, took = [], []  # (begin, seconds) of each plain connection, and the seconds of the job after it
    for _ in range(jobs):
        plain.append((time.monotonic(), 0 if rate else plain_seconds()))
        took.append(job_seconds(build, COUNT))
    figures = []
    for (begin, _), seconds in zip(plain, took):
        longest = max(other for when, other in plain if abs(when - begin) <= 30)
        limit = 4 * COUNT * 8 * ON_THE_WIRE / rate + 1 if rate else 2 * longest + 1
        figures.append({"took": None if seconds is None else seconds - empty, "limit": limit})
    print(json.dumps(figures))


def row_of(link, figures):
    took = [figure["took"] for figure in figures if figure["took"] is not None]
    late = sum(figure["took"] is not None and figure["took"] > figure["limit"] for figure in figures)
    limits = [figure["limit"] for figure in figures]
    good = len(took) == len(figures) and late == 0
    times = f"{statistics.median(took):.2f} / {max(took):.2f}" if took else "-"
    limit = f"{min(limits):.2f}" if max(limits) == min(limits) else f"{min(limits):.2f} to {max(limits):.2f}"
    print(f"{link:12} {len(took):3} of {len(figures):2} exit 0   {times:>15} s   limit {limit:>14} s   "
          f"{late} late   {'PASS' if good else 'FAIL'}", flush=True)
    return good


def main():
    build, jobs = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 20
    if sys.argv[3:4] == ["--inside"]:
        return inside(build, jobs, float(sys.argv[4]))
    good = True
    for link, (options, rate) in LINKS.items():
        run = subprocess.run([ROOT / "tests/hosts/with_hosts", *options, "a", "b", "--", __file__, build, str(jobs),
                              "--inside", str(rate or 0)], stdout=subprocess.PIPE, text=True, check=False)
        if run.returncode:
            return run.returncode
        good = row_of(link, json.loads(run.stdout)) and good
    return 0 if good else 1


sys.exit(main())
