// The messages of TensorBoard's event files (tensorflow/core/util/event.proto and
// framework/summary.proto), as far as bert_train writes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/data/protobuf_message.h"
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

// Return a Summary.Value.
[[nodiscard]] ProtobufMessage scalar_value(const std::string& tag, double value);
[[nodiscard]] ProtobufMessage text_value(const std::string& tag, const std::string& markdown);
[[nodiscard]] ProtobufMessage histogram_value(const std::string& tag, const Histogram& histogram);
[[nodiscard]] ProtobufMessage curve_value(const std::string& tag, const PrCurve& curve);

// Return an Event.
[[nodiscard]] ProtobufMessage version_event(double time);
// Tells a reader to forget the events of earlier files from this step on.
[[nodiscard]] ProtobufMessage start_event(double time, std::int64_t step);
[[nodiscard]] ProtobufMessage summary_event(double time,
                                            std::int64_t step,
                                            const std::vector<ProtobufMessage>& values);

}  // namespace bp::trainer
