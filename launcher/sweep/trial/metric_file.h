// Follows the file in which a trial reports its metric: its stdout, or bert_train's metrics.jsonl.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/sweep/space/trial.h"

namespace bp::launcher::sweep {

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

}  // namespace bp::launcher::sweep
