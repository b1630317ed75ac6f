// The course of a run for TensorBoard. Each session of a run writes a file of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/options/setting.h"
#include "trainer/common/protobuf_message.h"
#include "trainer/events/record_writer.h"
#include "trainer/report/metrics.h"
#include "trainer/report/pr_curve.h"

namespace bp::trainer {

// How often the numbers of a tensor are in each range.
struct Histogram {
  double least = 0;
  double most = 0;
  double count = 0;
  double sum = 0;
  double squares = 0;
  std::vector<double> upper_ends = {};  // of the ranges, ascending
  std::vector<double> counts = {};      // one for each range
};

// A problem with the file never ends the run: the log prints one warning and writes nothing more.
class EventLog {
 public:
  // Makes a new file in `folder`, and the folder. `done`: steps that earlier sessions made; their
  // events of later steps no longer count. Throws InputError (70) if that fails.
  EventLog(const std::string& folder, std::int64_t done);

  void settings(const std::vector<Setting>& settings);
  void write(const StepRecord& record);
  void write(const EvaluationRecord& record);
  struct Weights {
    std::string name = {};  // of the parameter
    Histogram histogram = {};
  };
  void weights(std::int64_t step, const std::vector<Weights>& all);
  // `split`: "test".
  void curves(std::int64_t step, const std::string& split, const std::vector<PrCurve>& all);

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  void write(std::int64_t step, const std::vector<ProtobufMessage>& values);
  void append(const ProtobufMessage& event);

  std::int64_t done_;
  std::string path_;
  std::unique_ptr<RecordWriter> writer_;  // none after a failure
};

}  // namespace bp::trainer
