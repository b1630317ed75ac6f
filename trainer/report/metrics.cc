#include "trainer/report/metrics.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <fstream>
#include <optional>

#include "base/text.h"
#include "bp/error.h"
#include "trainer/common/whole_file.h"
#include "trainer/report/json_fields.h"

namespace bp::trainer {
namespace {

constexpr int kFileMode = 0644;

[[noreturn]] void fail(const std::string& path, const char* doing, int error_number) {
  throw Error(ErrorCode::io, concat("cannot ", doing, " ", path, ": ", error_text(error_number)));
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

template <class Record>
std::string line_of(const Record& record) {
  JsonWriter json;
  fields(json, record);
  return json.take_noted().dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace

// A total and a kind have the same numbers.
void counted_fields(auto& json, auto& it) {
  constexpr double kMicroseconds = 1e6;
  json("operations", it.operations);
  json("bytes", it.bytes);
  json("seconds_busy", Rounded(it.seconds_busy, kMicroseconds));
  json("seconds_waiting", Rounded(it.seconds_waiting, kMicroseconds));
}

void fields(auto& json, Of<Counters::Kind> auto& it) {
  json("operation", it.operation);
  json("algorithm", it.algorithm);
  counted_fields(json, it);
}

void fields(auto& json, Of<Counters> auto& it) {
  counted_fields(json, it);
  json("kinds", it.kinds);
}

void fields(auto& json, Of<StepRecord> auto& it) {
  json("step", it.step);
  json.number("epoch", it.epoch);
  json("samples", it.samples);
  json.number("loss", it.loss);
  json.number("lr", it.lr);
  json.number("grad_norm", it.grad_norm);
  json.added("skipped", it.skipped);
  json.maybe("loss_scale", it.loss_scale);
  json.maybe("split_batches", it.split_batches);
  json.maybe("rows", it.rows);
  json.maybe("figures", it.figures);
  json.number("samples_per_s", Rounded(it.samples_per_s));
  json.number("tokens_per_s", Rounded(it.tokens_per_s));
  json.number("compute_ms", Rounded(it.compute_ms));
  json.number("comm_exposed_ms", Rounded(it.comm_exposed_ms));
  json.number("data_wait_ms", Rounded(it.data_wait_ms));
  json.added("comm", it.comm);
}

void fields(auto& json, Of<EvaluationRecord> auto& it) {
  json("step", it.step);
  json.number("epoch", it.epoch);
  json("samples", it.samples);
  json("split", it.split);
  json.rest(it.result.scores);
}

std::string to_json_line(const StepRecord& record) { return line_of(record); }
std::string to_json_line(const EvaluationRecord& record) { return line_of(record); }

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

const EvaluationRecord* Metrics::best_dev(const MainScore& main) const {
  const EvaluationRecord* best = nullptr;
  for (const EvaluationRecord& record : evaluations) {
    if (record.split != "dev") continue;
    if (best == nullptr || better(record.result, best->result, main)) best = &record;
  }
  return best;
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
        read_fields(line, metrics.evaluations.emplace_back());
      } else {
        read_fields(line, metrics.steps.emplace_back());
      }
    } catch (const std::exception& error) {
      throw Error(ErrorCode::invalid_argument, concat(path, ", line ", number_of_line,
                                                      " is not a line of metrics: ", error.what()));
    }
  }
  return metrics;
}

}  // namespace bp::trainer
