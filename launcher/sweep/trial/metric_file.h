// How a trial reports its metric: on its stdout, or in bert_train's metrics.jsonl.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/sweep/space/trial.h"

namespace bp::launcher::sweep {

// Parses "bp: metric VALUE STEP" or "bp: metric VALUE" (step `next_step`), as any program may print
// it on stdout. bprun's prefix "[0] " may precede it. Lines of other ranks and other lines yield
// nothing; so does a value that is not a finite number.
[[nodiscard]] std::optional<Report> parse_metric_line(std::string_view line,
                                                      std::int64_t next_step);

// Parses a line of bert_train's metrics.jsonl. `metric` is dev_accuracy, dev_loss or any other
// number of an evaluation with the split's name before it, or train_loss for the loss of the
// training steps.
[[nodiscard]] std::optional<Report> parse_metrics_json(std::string_view line,
                                                       std::string_view metric);

// Follows a file of such lines.
class MetricFile {
 public:
  // `metric` is the name in metrics.jsonl; empty for lines of stdout, which have no name. Reads
  // from byte `offset` on, where the attempt began.
  MetricFile(std::string path, std::string metric, std::int64_t offset = 0)
      : path_(std::move(path)), metric_(std::move(metric)), offset_(offset) {}

  // Returns what the file reports since the last call, in its order. An unfinished last line counts
  // only if `ended`. A file that does not exist yet reports nothing. If the file has become
  // shorter, because the trial resumed from an earlier step, reads it from its beginning: a step
  // may then come again.
  [[nodiscard]] std::vector<Report> read(bool ended = false);

 private:
  void take_line(std::string_view line, std::vector<Report>& lines);

  std::string path_;
  std::string metric_;
  std::int64_t offset_;
  std::int64_t next_step_ = 1;
  std::string rest_;       // of a line whose end has not been written yet
  bool too_long_ = false;  // the line in `rest_` is longer than any report, and is skipped
};

// What a trial reported instead of the metric, so that a message can name it. Both read the first
// lines only, and none if the file cannot be read. The first returns the names under which
// metrics.jsonl has the figures of its evaluations and train_loss, each once; the other the first
// line of stdout that looks like a report and is none, such as "bp: metric 50%".
[[nodiscard]] std::vector<std::string> names_in_metrics(const std::string& path);
[[nodiscard]] std::optional<std::string> refused_report(const std::string& path);

}  // namespace bp::launcher::sweep
