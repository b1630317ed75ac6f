#include "launcher/sweep/trial/metric_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <fstream>

#include <nlohmann/json.hpp>

#include "base/number.h"
#include "base/system/fd.h"
#include "base/text.h"

namespace bp::launcher::sweep {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLongestLine = std::size_t{64} << 10;
constexpr int kMostLines = 10'000;  // a run of bert_train evaluates earlier, or not at all
constexpr std::size_t kLongestShown = 80;

std::string_view without_rank(std::string_view line) {
  constexpr std::string_view kPrefix = "[0] ";  // bprun's, of the first rank
  if (line.starts_with(kPrefix)) line.remove_prefix(kPrefix.size());
  return line;
}

// Removes the first word of `text` and returns it.
std::string_view take_word(std::string_view& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) {
    text = {};
    return {};
  }
  text.remove_prefix(begin);
  const std::string_view word = text.substr(0, text.find_first_of(" \t\r"));
  text.remove_prefix(word.size());
  return word;
}

std::string split_of(const Json& line) { return line.value("split", "train"); }

// Calls `see` with each of the first lines until it returns false.
template <class See>
void each_line(const std::string& path, See see) {
  std::ifstream file(path);
  std::string line;
  for (int i = 0; i < kMostLines && std::getline(file, line); ++i) {
    if (!see(line)) return;
  }
}

}  // namespace

std::optional<Report> parse_metric_line(std::string_view line, std::int64_t next_step) {
  constexpr std::string_view kMark = "bp: metric ";
  line = without_rank(line);
  if (!line.starts_with(kMark)) return std::nullopt;
  line.remove_prefix(kMark.size());
  const auto value = number_in<double>(take_word(line));
  const std::string_view word = take_word(line);
  const auto step = word.empty() ? std::optional(next_step) : number_in<std::int64_t>(word);
  if (!value || !std::isfinite(*value) || !step || !take_word(line).empty()) return std::nullopt;
  return Report{*step, *value};
}

std::optional<Report> parse_metrics_json(std::string_view line, std::string_view metric) {
  const Json object = Json::parse(line, nullptr, false);
  if (!object.is_object() || !object.contains("step") || !object["step"].is_number_integer()) {
    return std::nullopt;
  }
  const std::string start = split_of(object) + "_";
  if (!metric.starts_with(start)) return std::nullopt;
  const std::string key(metric.substr(start.size()));
  if (!object.contains(key) || !object[key].is_number()) return std::nullopt;
  return Report{object["step"].get<std::int64_t>(), object[key].get<double>()};
}

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

std::vector<std::string> names_in_metrics(const std::string& path) {
  std::vector<std::string> names;
  each_line(path, [&](const std::string& line) {
    const Json object = Json::parse(line, nullptr, false);
    if (!object.is_object()) return true;
    const std::string split = split_of(object);
    for (const auto& [key, value] : object.items()) {
      if (!value.is_number() || key == "step" || key == "epoch") continue;
      if (split == "train" && key != "loss") continue;
      std::string name = concat(split, "_", key);
      if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    }
    return true;
  });
  return names;
}

std::optional<std::string> refused_report(const std::string& path) {
  std::optional<std::string> refused;
  each_line(path, [&](const std::string& line) {
    const std::string_view text = without_rank(line);
    const bool looks_like_one =
        text.find("bp:") != std::string_view::npos && text.find("metric") != std::string_view::npos;
    if (looks_like_one && !parse_metric_line(line, 1)) refused = text.substr(0, kLongestShown);
    return !refused;
  });
  return refused;
}

}  // namespace bp::launcher::sweep
