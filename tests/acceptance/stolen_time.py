#!/usr/bin/env python3
"""Runs tests of CTest on processors that are taken away now and then, as on a shared machine: stops one of each test's
processes at random moments, for up to 0.6 s. A test that decides by a time fails here and not only in somebody's CI.

stolen_time.py BUILD_FOLDER PATTERN [SEED]      runs the tests whose names match the regular expression PATTERN
"""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

LIMIT = 300  # seconds for a test


def processes_of(session):
    """The processes of a session, as (id, start time, state). The first process of the session is the test."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split() if entry.name.isdigit() else []
        except OSError:
            continue
        if len(fields) > 19 and int(fields[3]) == session and fields[0] != "Z":
            found.append((int(entry.name), fields[19], fields[0]))
    return found


def send(session, process, what):
    if any(process[:2] == other[:2] for other in processes_of(session)):  # no other process has its id by now
        try:
            os.kill(process[0], what)
        except ProcessLookupError:
            pass


def run(test, chance):
    """Runs a test and stops its processes. Returns its exit status, or None at the limit, and its output."""
    properties = {each["name"]: each["value"] for each in test.get("properties", [])}
    environment = dict(os.environ)
    environment.update(line.split("=", 1) for line in properties.get("ENVIRONMENT", []))
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(test["command"], cwd=properties.get("WORKING_DIRECTORY"), env=environment,
                                 stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)
        end = time.monotonic() + LIMIT
        try:
            while child.poll() is None and time.monotonic() < end:
                time.sleep(chance.uniform(0.05, 0.6))
                # A process that is stopped already was stopped by the test, which does not expect it to go on.
                processes = [process for process in processes_of(child.pid) if process[2] != "T"]
                if not processes:
                    continue
                process = chance.choice(processes)
                send(child.pid, process, signal.SIGSTOP)
                time.sleep(chance.uniform(0.2, 0.6))
                send(child.pid, process, signal.SIGCONT)
        finally:
            status = child.poll()
            for process in processes_of(child.pid):
                send(child.pid, process, signal.SIGKILL)
            child.wait()
        output.seek(0)
        return status, output.read().decode(errors="replace")


def main():
    build, pattern = sys.argv[1:3]
    chance = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    listed = subprocess.run(["ctest", "--test-dir", build, "-R", pattern, "--show-only=json-v1"], check=True,
                            capture_output=True, text=True).stdout
    tests = json.loads(listed)["tests"]
    failed = []
    for test in tests:
        begin = time.monotonic()
        status, output = run(test, chance)
        if status not in (0, 77):
            failed.append(test["name"])
            print(f"-- {test['name']}: {'still ran at the limit' if status is None else f'ended with {status}'}")
            lines = output.splitlines()
            wrong = [i for i, line in enumerate(lines) if ": Failure" in line or "FAILED" in line]
            for i in wrong[:20] or [max(0, len(lines) - 8)]:
                print("\n".join(lines[i:i + 8]))
        print(f"{time.monotonic() - begin:6.0f} s  {test['name']}", flush=True)
    print(f"{len(tests) - len(failed)} of {len(tests)} tests pass while their processes are stopped now and then"
          + (f"; not {', '.join(failed)}" if failed else ""))
    sys.exit(bool(failed) or not tests)


if __name__ == "__main__":
    main()
