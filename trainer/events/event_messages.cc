#include "trainer/events/event_messages.h"

#include <cstddef>

namespace bp::trainer {
namespace {

// Enumerations of the messages.
constexpr std::int64_t kFloat = 1;   // DataType
constexpr std::int64_t kString = 7;  // DataType
constexpr std::int64_t kTensorClass = 2;
constexpr std::int64_t kStart = 1;  // SessionLog.SessionStatus

ProtobufMessage metadata_of(const std::string& plugin, const ProtobufMessage& content) {
  ProtobufMessage data;
  data.bytes(1, plugin).message(2, content);
  ProtobufMessage metadata;
  metadata.message(1, data).integer(4, kTensorClass);
  return metadata;
}

ProtobufMessage dimension(std::size_t size) {
  ProtobufMessage message;
  message.integer(1, static_cast<std::int64_t>(size));
  return message;
}

float share(float part, float other) { return part + other == 0 ? 0 : part / (part + other); }

ProtobufMessage event_at(double time, std::int64_t step) {
  ProtobufMessage event;
  event.real(1, time).integer(2, step);
  return event;
}

}  // namespace

ProtobufMessage scalar_value(const std::string& tag, double value) {
  ProtobufMessage message;
  message.bytes(1, tag).single(2, static_cast<float>(value));
  return message;
}

ProtobufMessage text_value(const std::string& tag, const std::string& markdown) {
  ProtobufMessage tensor;
  tensor.integer(1, kString).message(2, {}).bytes(8, markdown);
  ProtobufMessage message;
  message.bytes(1, tag).message(8, tensor).message(9, metadata_of("text", {}));
  return message;
}

ProtobufMessage histogram_value(const std::string& tag, const Histogram& histogram) {
  ProtobufMessage content;
  content.real(1, histogram.least).real(2, histogram.most).real(3, histogram.count);
  content.real(4, histogram.sum).real(5, histogram.squares);
  content.packed(6, histogram.upper_ends).packed(7, histogram.counts);
  ProtobufMessage message;
  message.bytes(1, tag).message(5, content);
  return message;
}

ProtobufMessage curve_value(const std::string& tag, const PrCurve& curve) {
  const std::size_t thresholds = curve.true_positives.size();
  std::vector<float> numbers;
  for (const auto* row : {&curve.true_positives, &curve.false_positives, &curve.true_negatives,
                          &curve.false_negatives}) {
    numbers.insert(numbers.end(), row->begin(), row->end());
  }
  for (std::size_t i = 0; i < thresholds; ++i) {
    numbers.push_back(share(curve.true_positives[i], curve.false_positives[i]));  // precision
  }
  for (std::size_t i = 0; i < thresholds; ++i) {
    numbers.push_back(share(curve.true_positives[i], curve.false_negatives[i]));  // recall
  }
  constexpr std::size_t kRows = 6;
  ProtobufMessage shape;
  shape.message(2, dimension(kRows)).message(2, dimension(thresholds));
  ProtobufMessage tensor;
  tensor.integer(1, kFloat).message(2, shape).packed(5, numbers);
  ProtobufMessage plugin;
  plugin.integer(2, static_cast<std::int64_t>(thresholds));
  ProtobufMessage message;
  message.bytes(1, tag).message(8, tensor).message(9, metadata_of("pr_curves", plugin));
  return message;
}

ProtobufMessage version_event(double time) {
  ProtobufMessage event;
  event.real(1, time).bytes(3, "brain.Event:2");
  return event;
}

ProtobufMessage start_event(double time, std::int64_t step) {
  ProtobufMessage session;
  session.integer(1, kStart);
  return event_at(time, step).message(7, session);
}

ProtobufMessage summary_event(double time,
                              std::int64_t step,
                              const std::vector<ProtobufMessage>& values) {
  ProtobufMessage summary;
  for (const ProtobufMessage& value : values) summary.message(1, value);
  return event_at(time, step).message(5, summary);
}

}  // namespace bp::trainer
