"""Tries mutants: compiles each one, runs the tests that should notice, and records the result in a journal."""
import concurrent.futures
import contextlib
import dataclasses
import hashlib
import json
import time

from build import BuildError
from mutants import Mutant

TELLING = {"killed", "killed by time limit", "survived"}  # verdicts for which tests ran


@dataclasses.dataclass
class Result:
    mutant: Mutant
    verdict: str  # TELLING, or "does not compile", "same code" or "equivalent"
    by: str = ""  # the first test that failed
    code: str = ""  # hash of what it was compiled to


class File:
    """A file to be mutated, with the objects that depend on it and the tests that should notice."""

    def __init__(self, build, program, name):
        self.build, self.program, self.name = build, program, name
        self.text = (build.tree / name).read_text()
        objects, self.link = build.program(program)
        self.objects = [each for each in objects if build.depends(each, name)]
        self.unchanged = self.optimised = self.limits = None

    def prepare(self, worker):
        """Builds the file unchanged. Its tests must pass, and their duration sets the limits for mutants."""
        code = worker.compile(self.name, self.text, self.objects)
        if code is None or not self.objects:
            raise BuildError(f"{self.name} is compiled into no object of {self.program.target}, or does not compile")
        self.unchanged = digest(code)
        worker.link(self.link, self.objects)
        begin = time.monotonic()
        outcome = worker.test(self.program.files[self.name], 600, 600)
        if outcome.verdict != "survived":
            raise BuildError(f"the tests of {self.name} fail without any mutant: {outcome.by}")
        # Limits of processor time and of elapsed time; the latter is wider because other programs
        # run too.
        self.limits = 3 + 10 * outcome.seconds, 60 + 20 * (time.monotonic() - begin)

    def attempt(self, mutant, worker):
        text = mutant.apply(self.text)
        code = worker.compile(self.name, text, self.objects)
        if code is None:
            return Result(mutant, "does not compile")
        if digest(code) == self.unchanged:
            return Result(mutant, "same code")
        try:
            worker.link(self.link, self.objects)
        except BuildError:  # such as a mutant that renames what another file uses
            return Result(mutant, "does not compile")
        outcome = worker.test(self.program.files[self.name], *self.limits)
        if outcome.verdict == "survived" and self.is_optimised_away(text, worker):
            return Result(mutant, "same code")
        return Result(mutant, outcome.verdict, outcome.by, digest(code))

    def is_optimised_away(self, text, worker):
        if self.optimised is None:
            self.optimised = digest(worker.compile(self.name, self.text, self.objects, ["-O2"]))
        return digest(worker.compile(self.name, text, self.objects, ["-O2"])) == self.optimised


def digest(code):
    return hashlib.sha256(b"".join(code)).hexdigest()


class Journal:
    """The results of earlier runs. A kill is valid until the mutated file changes. A survivor is tried again once any
    source of the tree has changed.
    """

    def __init__(self, path, tree):
        self.path, self.sources, self.known = path, digest_of_sources(tree), {}
        for line in path.read_text().splitlines() if path.is_file() else []:
            entry = json.loads(line)
            self.known[entry["key"]] = entry

    @staticmethod
    def key(file, mutant):
        flags = " ".join(file.program.flags)
        return digest([file.text.encode(), b"\0%d\0" % mutant.line, mutant.new.encode(), flags.encode()])

    def look_up(self, file, mutant):
        entry = self.known.get(self.key(file, mutant))
        if entry is None or (entry["verdict"] == "survived" and entry["sources"] != self.sources):
            return None
        return Result(mutant, entry["verdict"], entry["by"], entry["code"])

    def add(self, file, result):
        entry = {"key": self.key(file, result.mutant), "sources": self.sources, **dataclasses.asdict(result)}
        self.known[entry["key"]] = entry
        with open(self.path, "a") as out:
            out.write(json.dumps(entry) + "\n")


def digest_of_sources(tree):
    return digest([str(path).encode() + b"\0" + path.read_bytes()
                   for path in sorted(tree.rglob("*")) if path.suffix in {".cc", ".h"}])


@contextlib.contextmanager
def one_of(workers):
    worker = workers.get()
    try:
        yield worker
    finally:
        workers.put(worker)


def try_file(file, drawn, quota, workers, journal, deadline):
    """Returns the results of the first mutants of `drawn`, until `quota` of them have run tests."""
    results, seen, jobs = [], {}, workers.qsize()
    while drawn and quota > 0 and time.monotonic() < deadline:
        batch, drawn = drawn[:quota], drawn[quota:]
        missing = [mutant for mutant in batch if journal.look_up(file, mutant) is None]
        if missing and file.limits is None:
            with one_of(workers) as worker:
                file.prepare(worker)

        def attempt(mutant):
            with one_of(workers) as worker:
                if time.monotonic() < deadline:
                    journal.add(file, file.attempt(mutant, worker))

        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            list(pool.map(attempt, missing))
        for result in filter(None, (journal.look_up(file, mutant) for mutant in batch)):
            if result.verdict in TELLING and seen.setdefault(result.code, result.mutant) != result.mutant:
                result.verdict = "same code"  # as another mutant
            quota -= result.verdict in TELLING
            results.append(result)
    return results
