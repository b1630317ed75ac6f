#include "launcher/report/likely_cause.h"

#include <signal.h>

#include <array>
#include <cctype>
#include <string_view>

#include "base/text.h"
#include "launcher/report/exit_code.h"

namespace bp::launcher {
namespace {

struct KnownCause {
  std::string_view sign;  // part of a line of stderr, in lower case
  std::string_view hint;
};

constexpr std::string_view kGpuMemory =
    "out of GPU memory: a smaller --batch, or fewer ranks on that GPU";
constexpr std::string_view kMemory =
    "out of memory: a smaller --batch, or fewer ranks on that host";

constexpr std::string_view kFileSize =
    "the limit of a file's size is too low (ulimit -f shows it; ulimit -f unlimited lifts it)";

constexpr std::array kKnownCauses{
    KnownCause{"cuda out of memory", kGpuMemory},
    KnownCause{"cuda error: out of memory", kGpuMemory},
    KnownCause{"cublas_status_alloc_failed", kGpuMemory},
    KnownCause{"outofmemoryerror", kMemory},
    KnownCause{"std::bad_alloc", kMemory},
    KnownCause{"cannot allocate memory", kMemory},
    KnownCause{"no space left on device", "the disk is full (df -h shows which)"},
    KnownCause{"disk quota exceeded", "the disk quota is used up"},
    KnownCause{"file too large", kFileSize},
    KnownCause{"failed to map segment",
               "the limit of address space is too low for a library (ulimit -v shows it)"},
    KnownCause{"too many open files", "the limit of open files is too low (ulimit -n)"},
    KnownCause{"address already in use",
               "a port is taken by another program (ss -ltnp shows which)"},
    KnownCause{"error while loading shared libraries",
               "a library is missing on that host; compare the output of ldd on the other hosts"},
    KnownCause{"version `glibc", "the program was built for a newer system than that host's"},
};

// Matches "loss nan", "the loss at step 5 is nan" and "loss=NaN": the word after "loss" in the same
// line.
bool has_nan_loss(std::string_view line) {
  const std::size_t loss = line.find("loss");
  const auto is_letter = [&line](std::size_t at) {
    return at < line.size() && std::isalpha(static_cast<unsigned char>(line[at])) != 0;
  };
  for (std::size_t at = loss; at != std::string_view::npos;) {
    at = line.find("nan", at + 1);
    if (at != std::string_view::npos && !is_letter(at - 1) && !is_letter(at + 3)) {
      return true;
    }
  }
  return false;
}

std::string_view hint_for_line(std::string_view line) {
  for (const KnownCause& cause : kKnownCauses) {
    if (line.find(cause.sign) != std::string_view::npos) {
      return cause.hint;
    }
  }
  return has_nan_loss(line) ? "the loss became NaN; try a smaller --lr or --precision fp32" : "";
}

std::string_view hint_for_signal(int number) {
  switch (number) {
    case SIGKILL:
      return "killed from outside, most often by the kernel when memory runs out (dmesg shows it)";
    case SIGILL:
      return "the program was built for another processor than that host's";
    case SIGBUS:
      return "a file that it had mapped was cut short, or a disk or shared memory is full";
    case SIGXFSZ:
      return kFileSize;
    case SIGXCPU:
      return "the limit of processor time is reached (ulimit -t)";
    default:
      return "";
  }
}

}  // namespace

// The host's knowledge comes first, because it is certain; then the program's own advice; then the
// known errors on its stderr, the last line first.
std::string likely_cause(const Evidence& evidence) {
  static constexpr std::string_view kOwnHint = "hint: ";
  if (!evidence.host_word.empty()) {
    return concat("out of memory: ", evidence.host_word,
                  "; fewer ranks on that host, a smaller --batch, or a higher limit");
  }
  const auto& lines = evidence.last_errors;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (line->starts_with(kOwnHint)) {
      return line->substr(kOwnHint.size());
    }
  }
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (const std::string_view hint = hint_for_line(lower_case(*line)); !hint.empty()) {
      return std::string(hint);
    }
  }
  const int code = evidence.exit_code;
  return std::string(code > kExitSignal ? hint_for_signal(code - kExitSignal) : "");
}

}  // namespace bp::launcher
