#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

#include "launcher/process/child.h"
#include "launcher/process/event_loop.h"
#include "launcher/process/process_tree.h"
#include "launcher/process/program.h"
#include "launcher/process/read_file.h"
#include "launcher/process/signals.h"
#include "launcher/process/spawn.h"
#include "tests/support/scratch.h"

namespace bp::launcher {
namespace {

using namespace std::chrono_literals;

struct TemporaryFolder : Scratch {
  std::string file(const std::string& name, mode_t mode, const std::string& text = "") const {
    std::string path = write(name, text);
    ::chmod(path.c_str(), mode);
    return path;
  }
};

std::string read_all(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(fd, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  return text;
}

SpawnRequest shell(const std::string& script) {
  return {.file = "/bin/sh", .argv = {"sh", "-c", script}, .environment = {"PATH=/bin:/usr/bin"}};
}

TEST(Spawn, ReportsWhyAProgramCannotStart) {
  const TemporaryFolder folder;
  SpawnRequest request = shell("");
  request.file = folder.path() + "/missing";
  EXPECT_EQ(spawn(request).error, ENOENT);
  request.file = folder.file("data", 0644, "text");
  EXPECT_EQ(spawn(request).error, EACCES);
  request.file = folder.file("no_header", 0755, "text");
  EXPECT_EQ(spawn(request).error, ENOEXEC);
  request.file = folder.file("bad_interpreter", 0755, "#!/no/such/shell\n");
  EXPECT_EQ(spawn(request).error, ENOENT);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "spawn() must leave no zombie";
}

// The program must not get this process's stdin instead.
TEST(Spawn, ReportsThatDevNullCannotBeOpened) {
  const Fd next(::open("/", O_RDONLY | O_CLOEXEC));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit full{static_cast<rlim_t>(next.get()) + 1, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &full), 0);
  const SpawnResult result = spawn(shell("true"));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(result.pid, -1);
  EXPECT_EQ(result.error, EMFILE);
}

TEST(Spawn, StartsInItsOwnSessionWithCleanSignals) {
  Pipe out = make_pipe();
  SpawnRequest request = shell(
      "while read -r line; do case $line in Sig[BI]*) echo $line;; esac; done </proc/$$/status; "
      "cat");
  request.standard_output = out.write.get();
  sigset_t blocked;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  ignore_broken_pipes();
  const SpawnResult result = spawn(request);
  ASSERT_EQ(result.error, 0);
  EXPECT_EQ(::getpgid(result.pid), result.pid);
  EXPECT_EQ(::getsid(result.pid), result.pid);
  out.write.reset();
  EXPECT_EQ(read_all(out.read.get()), "SigBlk: 0000000000000000\nSigIgn: 0000000000000000\n")
      << "cat must read nothing, because stdin is empty";
  EXPECT_EQ(Child(result.pid).wait(Deadline(10s)), 0);
}

TEST(Spawn, StartsInTheCallersSessionOnRequest) {
  SpawnRequest request = shell("exit 0");
  request.in_own_session = false;
  const SpawnResult result = spawn(request);
  ASSERT_EQ(result.error, 0);
  EXPECT_EQ(::getpgid(result.pid), result.pid);
  EXPECT_EQ(::getsid(result.pid), ::getsid(0));
  EXPECT_EQ(Child(result.pid).wait(Deadline(10s)), 0);
}

TEST(Spawn, PassesEveryByte) {
  std::string every_byte;
  for (int byte = 1; byte < 256; ++byte) {
    every_byte += static_cast<char>(byte);
  }
  Pipe out = make_pipe();
  SpawnRequest request = shell("printf '%s|%s' \"$1\" \"$X\"");
  request.argv.insert(request.argv.end(), {"sh", every_byte});
  request.environment.push_back("X=" + every_byte);
  request.standard_output = out.write.get();
  const SpawnResult result = spawn(request);
  ASSERT_EQ(result.error, 0);
  out.write.reset();
  EXPECT_EQ(read_all(out.read.get()), every_byte + "|" + every_byte);
  EXPECT_EQ(Child(result.pid).wait(Deadline(10s)), 0);
}

TEST(Child, ReportsHowItEnded) {
  EXPECT_EQ(Child(spawn(shell("exit 7")).pid).wait(Deadline(10s)), 7 << 8);
  EXPECT_EQ(Child(spawn(shell("kill -SEGV $$")).pid).wait(Deadline(10s)).value_or(0) & 0x7f,
            SIGSEGV);
}

TEST(Child, IsKilledWithItsOwner) {
  pid_t pid = -1;
  {
    Child child(pid = spawn(shell("exec sleep 1000")).pid);
    EXPECT_FALSE(child.wait(Deadline(1ms)));
  }
  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST(ProcessTree, FindsAndSignalsDescendants) {
  Pipe out = make_pipe();
  SpawnRequest request = shell("sleep 1000 & echo started; wait");
  request.environment.push_back("MARK=x y");
  request.standard_output = out.write.get();
  Child child(spawn(request).pid);
  out.write.reset();
  char started = 0;
  ASSERT_EQ(::read(out.read.get(), &started, 1), 1);

  const auto processes = descendants_of(::getpid());
  ASSERT_EQ(processes.size(), 2U);
  EXPECT_EQ(processes[0].parent, ::getpid());
  EXPECT_EQ(processes[1].parent, processes[0].pid);
  // The shell may not have become sleep yet, and meanwhile it has no environment.
  for (const Deadline deadline(10s);
       !has_environment_entry(processes[1].pid, "MARK=x y") && !deadline.passed();) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_TRUE(has_environment_entry(processes[1].pid, "MARK=x y"));
  EXPECT_FALSE(has_environment_entry(processes[1].pid, "MARK=x"));

  signal_process({processes[1].pid, 1}, SIGKILL);  // an entry with another parent
  EXPECT_FALSE(child.wait(Deadline(20ms)));
  signal_process(processes[1], SIGKILL);  // then the shell ends
  EXPECT_TRUE(child.wait(Deadline(10s)));
}

TEST(ReadFile, GivesTheErrorAsAValue) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_file(folder.file("f", 0644, "text")).text, "text");
  EXPECT_EQ(read_file(folder.path() + "/missing").error, ENOENT);
  EXPECT_EQ(read_file(folder.path()).error, EISDIR);
}

TEST(ReadFile, RefusesAnEndlessFile) { EXPECT_EQ(read_file("/dev/zero").error, EFBIG); }

// A process that ends while the list is made must not disturb it.
TEST(ProcessTree, IsListedWhileProcessesEnd) {
  Child child(spawn(shell("while :; do /bin/true; done")).pid);
  for (int round = 0; round < 200; ++round) {
    for (const ProcessEntry& process : descendants_of(::getpid())) {
      static_cast<void>(has_environment_entry(process.pid, "A=1"));
    }
  }
  child.kill();
}

TEST(Program, IsLookedForInOrder) {
  const TemporaryFolder first;
  const TemporaryFolder second;
  const TemporaryFolder beside;
  first.file("data", 0644);
  second.file("data", 0755);
  first.file("only_data", 0644);
  beside.file("tool", 0755);
  const ProgramSearch search{first.path() + ":" + second.path(), beside.path()};
  EXPECT_EQ(find_program("data", search).file, second.path() + "/data");
  EXPECT_EQ(find_program("tool", search).file, beside.path() + "/tool");
  EXPECT_EQ(find_program(beside.path() + "/tool", {"", ""}).file, beside.path() + "/tool");

  const Program missing = find_program("none", search);
  EXPECT_EQ(missing.exit_code, 127);
  EXPECT_EQ(missing.problem, "it is neither on PATH nor in " + beside.path());
  EXPECT_EQ(find_program("only_data", search).exit_code, 126);
  EXPECT_EQ(find_program(first.path() + "/data", search).exit_code, 126);
  EXPECT_EQ(find_program(first.path(), search).problem, first.path() + " is a folder");
  EXPECT_EQ(find_program("/none", search).exit_code, 127);
  EXPECT_EQ(exit_code_of_exec_error(ENOEXEC), 126);
  EXPECT_EQ(exit_code_of_exec_error(EAGAIN), 70) << "the program is not to blame";
  EXPECT_THAT(exec_error_text(EAGAIN), testing::HasSubstr("ulimit -u, ulimit -v, and pids.max"));
}

TEST(Signals, HaveNames) {
  EXPECT_EQ(signal_name(SIGSEGV), "SIGSEGV");
  EXPECT_EQ(signal_name(SIGTERM), "SIGTERM");
  EXPECT_EQ(signal_name(63), "signal 63");
}

TEST(Signals, ArriveThroughTheDescriptor) {
  SignalFd signals{SIGUSR2};
  ::raise(SIGUSR2);
  EXPECT_EQ(signals.read(), std::vector<int>{SIGUSR2});
  EXPECT_TRUE(signals.read().empty());
}

TEST(EventLoop, HandlersMayForgetThemselvesAndOthers) {
  EventLoop loop;
  Pipe first = make_pipe();
  Pipe second = make_pipe();
  int calls = 0;
  const auto forget_both = [&](short) {
    ++calls;
    loop.forget(first.read.get());
    loop.forget(second.read.get());
  };
  loop.watch(first.read.get(), POLLIN, forget_both);
  loop.watch(second.read.get(), POLLIN, forget_both);
  ASSERT_EQ(::write(first.write.get(), "x", 1) + ::write(second.write.get(), "x", 1), 2);
  loop.run_once(0ms);
  loop.run_once(0ms);
  EXPECT_EQ(calls, 1);
}

TEST(EventLoop, WithoutEventsReportsNoHangUp) {
  EventLoop loop;
  Pipe pipe = make_pipe();
  int calls = 0;
  loop.watch(pipe.read.get(), 0, [&](short) { ++calls; });
  pipe.write.reset();
  loop.run_once(0ms);
  EXPECT_EQ(calls, 0);
  loop.set_events(pipe.read.get(), POLLIN);
  loop.run_once(0ms);
  EXPECT_EQ(calls, 1);
}

TEST(EventLoop, TimersFireInOrderAndCanBeCancelled) {
  EventLoop loop;
  std::string order;
  loop.after(2ms, [&] { order += "b"; });
  loop.after(1ms, [&] { order += "a"; });
  loop.cancel(loop.after(1ms, [&] { order += "x"; }));
  const Deadline deadline(10s);
  while (order.size() < 2 && !deadline.passed()) {
    loop.run_once();
  }
  EXPECT_EQ(order, "ab");
}

}  // namespace
}  // namespace bp::launcher
