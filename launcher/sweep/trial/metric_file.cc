#include "launcher/sweep/trial/metric_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/fd.h"
#include "launcher/sweep/trial/metric_line.h"

namespace bp::launcher::sweep {
namespace {

constexpr std::size_t kLongestLine = std::size_t{64} << 10;

}  // namespace

void MetricFile::take_line(std::string_view line, std::vector<Report>& lines) {
  const auto report =
      metric_.empty() ? parse_metric_line(line, next_step_) : parse_metrics_json(line, metric_);
  if (report) {
    next_step_ = report->step + 1;
    lines.push_back(*report);
  }
}

std::vector<Report> MetricFile::read(bool ended) {
  std::vector<Report> lines;
  const Fd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status = {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return lines;
  }
  if (status.st_size < offset_) {
    offset_ = 0;
    next_step_ = 1;
    rest_.clear();
    too_long_ = false;
  }
  std::array<char, std::size_t{16} << 10> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  while (true) {
    const ssize_t got = ::pread(file.get(), buffer.data(), buffer.size(), offset_);
    if (got <= 0) {
      if (got < 0 && errno == EINTR) continue;
      break;
    }
    offset_ += got;
    std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
    for (std::size_t end = 0; (end = bytes.find('\n')) != std::string_view::npos;) {
      rest_ += bytes.substr(0, end);
      if (!too_long_) take_line(rest_, lines);
      rest_.clear();
      too_long_ = false;
      bytes.remove_prefix(end + 1);
    }
    rest_ += bytes;
    if (rest_.size() > kLongestLine) {
      too_long_ = true;
      rest_.clear();
    }
  }
  if (ended && !rest_.empty()) {
    if (!too_long_) take_line(rest_, lines);
    rest_.clear();
  }
  return lines;
}

}  // namespace bp::launcher::sweep
