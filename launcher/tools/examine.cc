#include "launcher/tools/examine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include "base/system/loopback_check.h"
#include "base/text.h"
#include "launcher/report/clock_text.h"

namespace bp::launcher {
namespace {

// In seconds; above it, the logs of two hosts cannot be compared by time.
constexpr double kClockWarn = 0.5;
// In seconds; another process takes over a lease on shared files after 10.
constexpr double kClockFail = 5;
constexpr std::uint64_t kMega = 1U << 20U;
constexpr std::uint64_t kFewFiles = 1024;
constexpr std::uint64_t kLittleShared = 64 * kMega;  // the default size in a container
constexpr std::uint64_t kDiskWarn = 5UL * 1024 * kMega;
constexpr std::uint64_t kDiskFail = 100 * kMega;

// Returns "0.3 ms", "12.0 s", "03:00:00".
std::string short_time(double seconds) {
  if (seconds >= 1) {
    return elapsed_text(std::chrono::milliseconds(std::llround(seconds * 1e3)));
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f ms", seconds * 1e3);
  return text.data();
}

std::string limit_text(std::uint64_t bytes) {
  return bytes == kUnlimited ? "unlimited" : size_text(bytes);
}

}  // namespace

Check check_version(const Hello& remote, const Hello& own) {
  Check check{.topic = "version",
              .text = concat(remote.version, " (build ", remote.build.substr(0, 12), ")")};
  if (remote.protocol != own.protocol || remote.version != own.version) {
    check.grade = Grade::fail;
    check.text += concat("; here it is ", own.version, " (build ", own.build.substr(0, 12), ")");
    check.fix = "install the same bprun there, or name another by --remote-bprun PATH";
  } else if (remote.build != own.build) {
    check.grade = Grade::warn;
    check.text += concat("; here it is build ", own.build.substr(0, 12));
    check.fix = "install the same build on all hosts";
  }
  return check;
}

Check check_clock(const HostAnswer& answer) {
  const double off = std::abs(answer.clock_ahead);
  const double surely = std::max(0.0, off - answer.clock_margin);
  Check check{.topic = "clock",
              .text = concat(short_time(off), answer.clock_ahead < 0 ? " behind" : " ahead of",
                             " this machine, to ", short_time(answer.clock_margin))};
  if (surely > kClockWarn) {
    check.grade = surely > kClockFail ? Grade::fail : Grade::warn;
    check.fix = "let chrony or systemd-timesyncd set the clocks";
  }
  return check;
}

Check check_cores(const Hello& hello, const HostFacts& facts, int ranks) {
  Check check{.topic = "cores",
              .text = concat(facts.usable_threads, " of ", facts.cores, " may be used")};
  const bool share = facts.usable_cores < facts.usable_threads;
  if (share) {
    check.text += concat(", the hardware threads of ", facts.usable_cores, " cores");
  }
  if (facts.cpu_quota > 0) {
    check.text += concat(", for the time of ", facts.cpu_quota, " (quota of the control group)");
  }
  if (share || facts.cpu_quota > 0) {
    check.text += concat("; OMP_NUM_THREADS divides ", hello.cores);
  }
  if (facts.cpu_quota > 0 && facts.cpu_quota < ranks) {
    check.grade = Grade::warn;
    check.fix = concat("start fewer ranks than ", ranks,
                       " here, or raise the quota (limits.cpu, docker --cpus, CPUQuota=)");
  }
  return check;
}

Check check_open_files(const HostFacts& facts) {
  Check check{
      .topic = "files",
      .text = concat("a rank may open up to ", facts.open_files, ", or bprun's ulimit -n if less")};
  if (facts.open_files < kFewFiles) {
    check.grade = Grade::warn;
    check.fix = concat("set a hard limit of ", kFewFiles, " or more in limits.conf or sshd's unit");
  }
  return check;
}

Check check_locked_memory(const HostFacts& facts) {
  Check check{.topic = "memlock", .text = limit_text(facts.locked_memory)};
  if (facts.infiniband && facts.locked_memory != kUnlimited) {
    check.grade = Grade::warn;
    check.text += "; this host has InfiniBand, which locks what it sends";
    check.fix = "set ulimit -l unlimited in limits.conf or sshd's unit";
  }
  return check;
}

Check check_loopback(const HostFacts& facts) {
  if (facts.loopback_problem.empty()) {
    return {.topic = "loopback", .text = "processes of this host reach each other"};
  }
  return {.topic = "loopback",
          .grade = Grade::fail,
          .text = facts.loopback_problem,
          .fix = kLoopbackFix};
}

Check check_space(const SpaceFacts& space) {
  const bool shared = space.path == "/dev/shm";
  Check check{.topic = shared ? "shm" : "disk"};
  if (!space.problem.empty()) {
    check.grade = Grade::warn;
    check.text = concat(space.path, ": ", space.problem);
    check.fix = shared ? "mount a tmpfs there: NCCL and PyTorch need it"
                : space.problem.ends_with("(df -i)")
                    ? "delete files, or name other folders: TMPDIR, --run, --output"
                    : "let this user write there, or name other folders: TMPDIR, --run, --output";
    return check;
  }
  check.text = concat(space.path, ": ", size_text(space.free), " free of ", size_text(space.total));
  if (shared && space.free < kLittleShared) {
    check.grade = Grade::warn;
    check.fix = "NCCL and PyTorch need more: docker run --shm-size=8g, or remount it larger";
  } else if (!shared && space.free < kDiskWarn) {
    check.grade = space.free < kDiskFail ? Grade::fail : Grade::warn;
    check.fix = "free some space: checkpoints and logs go there";
  }
  return check;
}

Check check_directory(const HostFacts& facts) {
  Check check{.topic = "folder", .text = "the working directory exists"};
  if (!facts.directory_problem.empty()) {
    check.grade = Grade::fail;
    check.text = concat("the working directory cannot be entered: ", facts.directory_problem);
    check.fix = "share it with that host, create it there, or start bprun in another folder";
  }
  return check;
}

Check check_data(const PathFacts& path, const PathFacts* first) {
  Check check{.topic = "data"};
  if (!path.problem.empty()) {
    check.grade = Grade::fail;
    check.text = concat(path.path, ": ", path.problem);
    check.fix = "copy or mount it there, under that path";
    return check;
  }
  check.text = concat(path.path, path.folder ? ": a folder" : ": " + size_text(path.size));
  if (first != nullptr && (first->folder != path.folder || first->size != path.size)) {
    check.grade = Grade::fail;
    check.text +=
        concat(first->folder ? ", elsewhere a folder"
                             : concat(" (", path.size, " bytes), elsewhere ", first->size));
    check.fix = "copy the same data to all hosts";
  }
  return check;
}

Check check_gpus(const GpuList& list, const std::vector<int>& wanted) {
  Check check{.topic = "gpus"};
  for (const int index : wanted) {
    const auto same = [index](const Gpu& gpu) { return gpu.index == index; };
    if (std::ranges::none_of(list.gpus, same)) {
      check.grade = Grade::fail;
      check.text = concat("GPU ", index, " is requested; there ",
                          list.gpus.size() == 1 ? "is " : "are ", list.gpus.size());
      check.fix = "name GPUs that bprun gpus lists";
      check.text += list.problem.empty() ? "" : ": " + list.problem;
      return check;
    }
  }
  if (list.gpus.empty()) {
    check.text = concat("none: ", list.problem.empty() ? "the driver reports none" : list.problem);
    return check;
  }
  check.text = concat(list.gpus.size(), ", driver ", list.driver);
  for (const Gpu& gpu : list.gpus) {
    if (!gpu.processes.empty()) {
      check.grade = Grade::warn;
      check.text += concat("; GPU ", gpu.index, " is in use by ", owners_of(gpu));
      check.fix = "wait for them, or choose other GPUs (bprun gpus lists them)";
    }
  }
  return check;
}

Check check_libraries(const std::vector<LibraryFacts>& libraries) {
  Check check{.topic = "libraries"};
  for (const LibraryFacts& library : libraries) {
    check.text += concat(check.text.empty() ? "" : "; ", library.name, " ", library.found);
    if (library.problem.empty()) continue;
    check.text +=
        concat(library.found.empty() ? "not available: " : ", not usable: ", library.problem);
  }
  return check;
}

Check check_network(const Reach& reach) {
  Check check{.topic = "network"};
  if (reach.failure) {
    check.grade = Grade::fail;
    check.text = reach.failure->headline;
    for (const std::string& line : reach.failure->more) {
      check.text += concat("\n                 ", line);
    }
    check.fix = reach.failure->hint;
    return check;
  }
  check.text = "all reach each other with large packets";
  for (const std::string& address : reach.addresses) {
    check.text += concat(&address == &reach.addresses.front() ? ", at " : ", ", address);
  }
  return check;
}

}  // namespace bp::launcher
