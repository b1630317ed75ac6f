#include "launcher/report/failure.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "comm/base/text.h"
#include "launcher/report/clock_text.h"
#include "launcher/report/exit_code.h"
#include "launcher/report/rank_list.h"

namespace bp::launcher {
namespace {

struct KnownCause {
  std::string_view sign;  // in a line of stderr
  std::string_view hint;
};

constexpr std::array kKnownCauses{
    KnownCause{"CUDA out of memory",
               "out of GPU memory: a smaller --batch, or fewer ranks on that GPU"},
    KnownCause{"OutOfMemoryError", "out of memory: a smaller --batch"},
    KnownCause{"std::bad_alloc", "out of memory: a smaller --batch, or fewer ranks on that host"},
    KnownCause{"No space left on device", "the disk is full (df -h shows which)"},
    KnownCause{"Disk quota exceeded", "the disk quota is used up"},
    KnownCause{"Too many open files", "the limit of open files is too low (ulimit -n)"},
    KnownCause{"Address already in use",
               "a port is taken by another program (ss -ltnp shows which)"},
    KnownCause{"error while loading shared libraries",
               "a library is missing on that host; compare with the others by ldd"},
    KnownCause{"GLIBC", "the program was built for a newer system than that host's"},
    KnownCause{"loss is nan",
               "the loss is no number any more: a smaller --lr, or --precision fp32"},
};

std::string_view hint_for_signal(int number) {
  switch (number) {
    case SIGKILL:
      return "killed from outside, most often by the kernel when memory runs out (dmesg tells)";
    case SIGILL:
      return "the program was built for another processor than that host's";
    case SIGBUS:
      return "a file that it had mapped was cut short, or a disk or shared memory is full";
    case SIGXCPU:
      return "the limit of processor time is reached (ulimit -t)";
    default:
      return "";
  }
}

// Ranks that were in the same one share a line.
std::string under_way_lines(const std::map<int, std::string>& under_way) {
  constexpr std::size_t kLines = 8;
  std::map<std::string, std::vector<int>> ranks_in;
  for (const auto& [rank, collective] : under_way) {
    ranks_in[collective].push_back(rank);
  }
  std::string text;
  std::size_t lines = 0;
  for (const auto& [collective, ranks] : ranks_in) {
    if (lines++ == kLines) {
      return text + concat("\n  and ", ranks_in.size() - kLines, " more");
    }
    text += concat("\n  ", ranks.size() == 1 ? "rank " : "ranks ", rank_ranges(ranks),
                   ranks.size() == 1 ? " was in " : " were in ", collective);
  }
  return text;
}

}  // namespace

std::string hint_for(int exit_code, const std::vector<std::string>& last_errors) {
  for (const KnownCause& cause : kKnownCauses) {
    const auto has_sign = [&cause](const std::string& line) {
      return line.find(cause.sign) != std::string::npos;
    };
    if (std::any_of(last_errors.begin(), last_errors.end(), has_sign)) {
      return std::string(cause.hint);
    }
  }
  return std::string(exit_code > kExitSignal ? hint_for_signal(exit_code - kExitSignal) : "");
}

std::string format_report(const FailureReport& report) {
  const Failure& failure = report.failure;
  std::string text = concat("bprun: FAILED  ", failure.headline);
  if (report.after.count() > 0) {
    text += concat(" after ", elapsed_text(report.after),
                   "\n  first failure: ", date_and_time(report.when));
  }
  if (!report.stopped.empty()) {
    text +=
        concat("; ", report.stopped.size() == 1 ? "rank " : "ranks ", rank_ranges(report.stopped),
               report.stopped.size() == 1 ? " was" : " were", " stopped by bprun (",
               report.stop_signal, ", ", elapsed_text(report.stop_took), ")");
  }
  for (const std::string& note : failure.more) {
    text += concat("\n  ", note);
  }
  text += under_way_lines(report.under_way);
  if (failure.rank >= 0 && report.last_errors.empty()) {
    text += concat("\n  rank ", failure.rank, " wrote nothing to stderr");
  } else if (!report.last_errors.empty()) {
    text += concat("\n  last stderr of rank ", failure.rank, ":");
    for (const std::string& line : report.last_errors) {
      text += concat("\n    | ", line);
    }
  }
  if (!failure.hint.empty()) {
    text += concat("\n  hint: ", failure.hint);
  }
  if (!report.error_file.empty()) {
    text += concat("\n  logs: ", report.error_file);
  }
  return text;
}

}  // namespace bp::launcher
