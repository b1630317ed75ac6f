#include "launcher/sweep/driver/failure_line.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <string_view>

#include "base/system/fd.h"

namespace bp::launcher::sweep {
namespace {

constexpr std::int64_t kMostRead = std::int64_t{64} << 10;  // of the end of the file
constexpr std::string_view kReport = "bprun: FAILED  ";
constexpr std::string_view kQuoted = "    | ";

bool is_hint(std::string_view line) { return line.starts_with("hint: "); }

}  // namespace

// bprun writes "host NAME was lost", "host NAME could not be reached" or "host NAME gave no
// answer".
FailureLine failure_line(const std::string& text) {
  FailureLine failure;
  std::istringstream lines(text);
  bool reported = false;
  for (std::string line; std::getline(lines, line);) {
    if (reported) {
      if (line.starts_with(kQuoted) && !is_hint(line.substr(kQuoted.size()))) {
        failure.said = line.substr(kQuoted.size());
      }
      continue;
    }
    if (!line.starts_with(kReport)) {
      if (!line.empty()) failure.text = line;
      continue;
    }
    reported = true;
    failure.text = line.substr(kReport.size());
    std::istringstream words(failure.text);
    std::string first;
    std::string host;
    std::string what;
    words >> first >> host >> what;
    failure.lost_host = first == "host" && (what == "was" || what == "could" || what == "gave");
    failure.host = failure.lost_host ? host : "";
  }
  return failure;
}

FailureLine read_failure(const std::string& path, std::int64_t offset) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status = {};
  if (!file || ::fstat(file.get(), &status) != 0) {
    return {};
  }
  const std::int64_t begin = std::max(offset, status.st_size - kMostRead);
  std::string text(static_cast<std::size_t>(std::max<std::int64_t>(0, status.st_size - begin)),
                   '\0');
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), begin);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  return failure_line(text);
}

}  // namespace bp::launcher::sweep
