#include "trainer/report/metrics.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <exception>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "bp/error.h"
#include "trainer/data/whole_file.h"
#include "trainer/report/counters_json.h"
#include "trainer/report/json.h"

namespace bp::trainer {
namespace {

constexpr int kFileMode = 0644;
constexpr const char* kFigures = "figures";

[[noreturn]] void fail(const std::string& path, const char* doing, int error_number) {
  throw Error(ErrorCode::io, concat("cannot ", doing, " ", path, ": ", error_text(error_number)));
}

// Adds "key": value pairs, and records the values that JSON cannot represent.
class Line {
 public:
  template <class Value>
  void add(const char* key, const Value& value) {
    json_[key] = value;
  }
  void add_number(const std::string& key, double value) {
    json_[key] = number(value);
    note(key, value);
  }
  void add_measured(const char* key, double value) {
    json_[key] = measured(value);
    note(key, value);
  }
  void add_figures(const FigureMeans& figures) {
    for (const auto& [name, value] : figures) {
      json_[kFigures][name] = number(value);
      note(concat(kFigures, '.', name), value);
    }
  }
  std::string text() {
    if (!not_finite_.empty()) {
      json_["not_finite"] = not_finite_;
    }
    return json_.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
  }

 private:
  void note(const std::string& key, double value) {
    if (!std::isfinite(value)) {
      not_finite_[key] = std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
    }
  }

  Json json_;
  Json not_finite_;
};

double read_not_finite(const Json& line, const std::string& key) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::string what = line.value("not_finite", Json::object()).value(key, "nan");
  return what == "inf" ? kInfinity : what == "-inf" ? -kInfinity : std::nan("");
}

double read_number(const Json& line, const char* key) {
  const auto found = line.find(key);
  if (found != line.end() && found->is_number()) {
    return found->get<double>();
  }
  return read_not_finite(line, key);
}

FigureMeans read_figures(const Json& line) {
  FigureMeans figures;
  if (!line.contains(kFigures)) return figures;
  for (const auto& [name, value] : line[kFigures].items()) {
    figures.emplace_back(name, value.is_number()
                                   ? value.get<double>()
                                   : read_not_finite(line, concat(kFigures, '.', name)));
  }
  return figures;
}

StepRecord read_step(const Json& line) {
  return {.step = count_at(line, "step"),
          .epoch = read_number(line, "epoch"),
          .samples = count_at(line, "samples"),
          .loss = read_number(line, "loss"),
          .lr = read_number(line, "lr"),
          .grad_norm = read_number(line, "grad_norm"),
          .skipped = line.contains("skipped") ? count_at(line, "skipped") : 0,
          .loss_scale = line.contains("loss_scale") ? read_number(line, "loss_scale") : 0,
          .figures = read_figures(line),
          .samples_per_s = read_number(line, "samples_per_s"),
          .tokens_per_s = read_number(line, "tokens_per_s"),
          .compute_ms = read_number(line, "compute_ms"),
          .comm_exposed_ms = read_number(line, "comm_exposed_ms"),
          .data_wait_ms = read_number(line, "data_wait_ms"),
          .comm = line.contains("comm") ? read_counters(line["comm"]) : Counters()};
}

// All keys but those of the record itself are scores.
EvaluationRecord read_evaluation_record(const Json& line) {
  constexpr std::string_view kOthers[] = {"step", "epoch", "samples", "split", "not_finite"};
  EvaluationSummary result;
  for (const auto& [key, value] : line.items()) {
    if (std::ranges::find(kOthers, key) != std::end(kOthers)) continue;
    result.scores.emplace_back(key, read_number(line, key.c_str()));
  }
  return {.step = count_at(line, "step"),
          .epoch = read_number(line, "epoch"),
          .samples = count_at(line, "samples"),
          .split = line.at("split"),
          .result = std::move(result)};
}

// Returns nothing if the line is none of metrics.
std::optional<std::uint64_t> step_in(const std::string& line) {
  try {
    const Json step = parse_own(line).at("step");
    if (step.is_number_unsigned()) return step.get<std::uint64_t>();
  } catch (const std::exception&) {
  }
  return std::nullopt;
}

// Returns the length of the complete lines of steps up to `last_step`, which are at the start of
// the file.
off_t length_up_to(const std::string& path, std::int64_t last_step) {
  std::ifstream in(path, std::ios::binary);
  std::string line;
  std::size_t length = 0;
  while (std::getline(in, line) && !in.eof()) {
    const std::optional<std::uint64_t> step = step_in(line);
    if (!step || *step > static_cast<std::uint64_t>(last_step)) break;
    length += line.size() + 1;
  }
  return static_cast<off_t>(length);
}

}  // namespace

std::string to_json_line(const StepRecord& record) {
  Line line;
  line.add("step", record.step);
  line.add_number("epoch", record.epoch);
  line.add("samples", record.samples);
  line.add_number("loss", record.loss);
  line.add_number("lr", record.lr);
  line.add_number("grad_norm", record.grad_norm);
  line.add("skipped", record.skipped);
  if (record.loss_scale > 0) line.add_number("loss_scale", record.loss_scale);
  line.add_figures(record.figures);
  line.add_measured("samples_per_s", record.samples_per_s);
  line.add_measured("tokens_per_s", record.tokens_per_s);
  line.add_measured("compute_ms", record.compute_ms);
  line.add_measured("comm_exposed_ms", record.comm_exposed_ms);
  line.add_measured("data_wait_ms", record.data_wait_ms);
  line.add("comm", to_json(record.comm));
  return line.text();
}

std::string to_json_line(const EvaluationRecord& record) {
  Line line;
  line.add("step", record.step);
  line.add_number("epoch", record.epoch);
  line.add("samples", record.samples);
  line.add("split", record.split);
  for (const auto& [key, value] : record.result.scores) line.add_number(key, value);
  return line.text();
}

MetricsWriter::MetricsWriter(const std::string& path, std::int64_t resumed_step) : path_(path) {
  file_ = Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kFileMode));
  if (!file_) {
    fail(path_, "open", errno);
  }
  if (::ftruncate(file_.get(), resumed_step > 0 ? length_up_to(path, resumed_step) : 0) != 0) {
    fail(path_, "shorten", errno);
  }
}

void MetricsWriter::write(const StepRecord& record) { append(to_json_line(record)); }
void MetricsWriter::write(const EvaluationRecord& record) { append(to_json_line(record)); }

void MetricsWriter::append(const std::string& line) {
  const std::size_t written = write_all(file_.get(), line.data(), line.size());
  if (written == line.size()) {
    return;
  }
  const int reason = errno;
  struct stat status = {};
  if (written > 0 && ::fstat(file_.get(), &status) == 0) {
    // Removes the partial line. If that fails too, readers skip the line.
    [[maybe_unused]] const int cut =
        ::ftruncate(file_.get(), status.st_size - static_cast<off_t>(written));
  }
  fail_to_write(path_, reason, line.size());
}

Metrics read_metrics(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    fail(path, "open", errno);
  }
  Metrics metrics;
  std::string text;
  for (int number_of_line = 1; std::getline(in, text) && !in.eof(); ++number_of_line) {
    try {
      const Json line = parse_own(text);
      if (line.contains("split")) {
        metrics.evaluations.push_back(read_evaluation_record(line));
      } else {
        metrics.steps.push_back(read_step(line));
      }
    } catch (const std::exception& error) {
      throw Error(ErrorCode::invalid_argument, concat(path, ", line ", number_of_line,
                                                      " is not a line of metrics: ", error.what()));
    }
  }
  return metrics;
}

}  // namespace bp::trainer
