"""Builds test programs from a copy of the tree. A worker builds one of them again with one file replaced: it compiles
only the objects that depend on the file, into a folder of its own, and links them with the objects of the first build.
"""
import dataclasses
import json
import os
import pathlib
import re
import resource
import shlex
import shutil
import signal
import subprocess
import time

# No optimisation, because compiling is most of a mutant's cost. HWY_... makes libraries hold only
# kernels without vectors.
FLAGS = "-O0 -D_GLIBCXX_ASSERTIONS -DHWY_COMPILE_ONLY_STATIC"
MEMORY = 8 << 20  # KiB of address space that a test program may use
# The library that a file belongs to, by the first prefix of its path that is listed here.
LIBRARIES = {"base/": "bp_comm", "comm/torch/": "bp_torch", "comm/": "bp_comm", "launcher/": "bp_launcher",
             "trainer/common/": "bp_data", "trainer/batches/": "bp_data", "trainer/": "bp_run"}
AS_USER_NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]  # a mutant may remove the wrong file


class BuildError(Exception):
    pass


def run(argv, **options):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          **options)
    if done.returncode:
        raise BuildError(f"{shlex.join(map(str, argv))[:200]} failed:\n{done.stdout[-4000:]}")
    return done.stdout


@dataclasses.dataclass
class Object:
    source: str  # relative to the tree
    command: list  # without -o and the source
    path: str  # as in the link command


@dataclasses.dataclass
class Outcome:
    verdict: str  # "survived", "killed" or "killed by time limit"
    seconds: float = 0  # processor time
    by: str = ""  # the first test that failed


class Build:
    def __init__(self, checkout, work):
        self.checkout, self.tree, self.folder = checkout, work / "tree", work / "build"

    def copy_tree(self):
        """Copies what git tracks or would track. Files that have not changed since the last copy keep their times."""
        names = run(["git", "-C", self.checkout, "ls-files", "-co", "--exclude-standard", "-z"]).split("\0")
        names = {name for name in names if (self.checkout / name).is_file()} - {"CMakeLists.txt"}
        for old in self.tree.rglob("*"):
            if old.is_file() and str(old.relative_to(self.tree)) not in names | {"CMakeLists.txt", "mutation.cmake"}:
                old.unlink()
        for name in names:
            source, target = self.checkout / name, self.tree / name
            if not target.is_file() or target.read_bytes() != source.read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target)
        if not (self.tree / ".deps").exists() and (self.checkout / ".deps").exists():
            (self.tree / ".deps").symlink_to(self.checkout / ".deps")

    @staticmethod
    def library(name):
        """Returns the target that compiles a file of the tree; None for a folder that LIBRARIES does not have."""
        return next((target for prefix, target in LIBRARIES.items() if name.startswith(prefix)), None)

    def configure(self, programs, torch):
        """Adds each program to the copy's build, and makes it compile each file to be mutated by itself."""
        text = ""
        for program in programs:
            own = [name for name in program.files if name.endswith(".cc")]
            sources = " ".join(own + program.sources)
            text += (f"bp_test_program({program.target} LIBS {' '.join(program.libs)} LABELS unit)\n"
                     f"bp_test({program.target} IN {program.target} {sources})\n"
                     f"set_source_files_properties({sources} PROPERTIES BP_ALONE ON)\n")
            text += "".join(f"target_compile_options({program.target} PRIVATE \"{flag}\")\n" for flag in program.flags)
            for name in own:
                home = self.library(name)
                text += (f"if(TARGET {home})\n  set_source_files_properties(${{CMAKE_SOURCE_DIR}}/{name}"
                         f" TARGET_DIRECTORY {home} PROPERTIES BP_ALONE ON)\nendif()\n")
        write_if_new(self.tree / "mutation.cmake", text)
        write_if_new(self.tree / "CMakeLists.txt",
                     (self.checkout / "CMakeLists.txt").read_text().replace(
                         "\nbp_unity(", "\ninclude(mutation.cmake)\nbp_unity("))
        run(["cmake", "-S", self.tree, "-B", self.folder, "-G", "Ninja", "--log-level=WARNING",
             "-DCMAKE_BUILD_TYPE=Mutation", f"-DCMAKE_CXX_FLAGS_MUTATION={FLAGS}", "-DBP_UNITY=ON",
             "-DBP_PCH=ON", "-DBP_WERROR=OFF", "-DBP_BENCH=OFF", f"-DBP_TORCH={'ON' if torch else 'OFF'}"])

    def make(self, programs, jobs):
        run(["cmake", "--build", self.folder, "--parallel", str(jobs), "--target", *[each.target for each in programs]])

    def program(self, program):
        """Returns the program's objects and the command that links it, as CMake wrote them."""
        prefix = f"CMakeFiles/{program.target}.dir/"
        objects = []
        for entry in json.loads((self.folder / "compile_commands.json").read_text()):
            if prefix not in entry["command"]:
                continue
            command = shlex.split(entry["command"])
            begin = next((i + 1 for i, word in enumerate(command) if word.endswith("ccache")), 0)
            output = command.index("-o")
            if command[output + 1].startswith(prefix):
                source = str(pathlib.Path(entry["file"]).relative_to(self.tree))
                objects.append(Object(source, command[begin:output], command[output + 1]))
        last = run(["ninja", "-C", self.folder, "-t", "commands", "-s", program.binary]).strip().splitlines()[-1]
        return objects, [word for word in shlex.split(last) if word not in {":", "&&"}]

    def depends(self, built, name):
        """Returns whether the object is compiled from that file, or includes it."""
        known = run(["ninja", "-C", self.folder, "-t", "deps", built.path]).splitlines()
        return built.source == name or any(os.path.realpath(self.folder / line.strip()) == str(self.tree / name)
                                           for line in known[1:] if line.startswith(" "))


def write_if_new(path, text):
    if not path.is_file() or path.read_text() != text:
        path.write_text(text)


class Worker:
    """Builds and runs one mutant at a time, in a folder beside the build's programs, which find plugins at ../"""

    def __init__(self, build, number):
        self.build, self.folder = build, build.folder / f"worker-{number}"
        self.scratch = self.folder / "scratch"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.binary = self.folder / "program"

    def compile(self, name, text, objects, extra=()):
        """Returns the objects' bytes with `text` in the file `name`, or None if they do not compile."""
        shutil.rmtree(self.folder / "source", ignore_errors=True)  # of the last mutant
        place = self.folder / "source" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        results = []
        for number, each in enumerate(objects):
            source = place if each.source == name else self.build.tree / each.source
            compiler, *rest = each.command
            argv = [compiler, f"-I{self.folder}/source", *rest, f"-ffile-prefix-map={self.folder}/source/=", "-w",
                    *extra, "-o", self.folder / f"{number}.o", "-c", source]
            done = subprocess.run(argv, cwd=self.build.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if done.returncode:
                return None
            results.append((self.folder / f"{number}.o").read_bytes())
        return results

    def link(self, command, objects):
        """Raises BuildError if the program cannot be linked."""
        replaced = {each.path: str(self.folder / f"{number}.o") for number, each in enumerate(objects)}
        argv = [replaced.get(word, word) for word in command]
        argv[argv.index("-o") + 1] = str(self.binary)
        run(argv, cwd=self.build.folder)

    def test(self, pattern, cpu_limit, wall_limit):
        """Runs the program's tests until one fails."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir()
        self.scratch.chmod(0o777)
        argv = [*(AS_USER_NOBODY if os.geteuid() == 0 else []), "bash", "-c",
                f"ulimit -t {int(cpu_limit) + 1} -v {MEMORY} -c 0 && exec \"$@\"", "bash", self.binary,
                f"--gtest_filter={pattern}", "--gtest_fail_fast", "--gtest_brief=1"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with open(self.folder / "output", "w+", errors="replace") as output:
            environment = {**os.environ, "TMPDIR": str(self.scratch), "TEST_TMPDIR": str(self.scratch),
                           "OMP_NUM_THREADS": "1"}
            child = subprocess.Popen(argv, cwd=self.scratch, env=environment, stdout=output, stderr=output,
                                     stdin=subprocess.DEVNULL, start_new_session=True)
            in_time = ends_within(child, wall_limit)
            os.killpg(child.pid, signal.SIGKILL)  # also kills the processes that it has started
            status = child.wait()
            output.seek(0)
            text = output.read()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if status == 0 and re.search(r"\[  PASSED  \] [1-9]", text):
            return Outcome("survived", seconds)
        if not in_time or status in (-signal.SIGXCPU, -signal.SIGKILL):
            return Outcome("killed by time limit", seconds)
        failed = re.search(r"^\[  FAILED  \] ([^ ,]+)", text, re.M)
        return Outcome("killed", seconds, failed[1] if failed else f"nothing passed, status {status}")


def ends_within(child, seconds):
    """Returns whether the child ends in time. It stays unreaped, so no other process can get its pid."""
    end = time.monotonic() + seconds
    while os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True
