#include "trainer/events/event_log.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <climits>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <string_view>

#include "base/input_error.h"
#include "base/text.h"
#include "bp/error.h"
#include "bp/log.h"
#include "trainer/common/look_up.h"
#include "trainer/common/whole_file.h"

namespace bp::trainer {
namespace {

constexpr std::string_view kFilePrefix = "events.out.tfevents.";

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// TensorBoard reads the files of a folder in the order of their names, so the new one has a later
// second than all others.
std::int64_t second_of_new_file(const std::string& folder) {
  auto second = static_cast<std::int64_t>(seconds_now());
  for (const std::string& name : entries_of(folder)) {
    if (!name.starts_with(kFilePrefix)) continue;
    std::int64_t other = 0;
    std::from_chars(name.data() + kFilePrefix.size(), name.data() + name.size(), other);
    second = std::max(second, other + 1);
  }
  return second;
}

std::string new_event_file(const std::string& folder) {
  std::array<char, HOST_NAME_MAX + 1> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {'?'};
  return concat(folder, "/", kFilePrefix, second_of_new_file(folder), ".", host.data(), ".",
                ::getpid(), ".0");
}

// A cell of a table in Markdown.
std::string markdown_cell(const std::string& text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|' || c == '`' || c == '\\') cell += '\\';
    cell += c == '\n' ? ' ' : c;
  }
  return cell;
}

// The messages of TensorBoard's event files (tensorflow/core/util/event.proto and
// framework/summary.proto), as far as bert_train writes them. Their enumerations:
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

// These return a Summary.Value.
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

// Returns an Event that happens now, without its content.
ProtobufMessage event_now() {
  ProtobufMessage event;
  event.real(1, seconds_now());
  return event;
}

}  // namespace

EventLog::EventLog(const std::string& folder, std::int64_t done) : done_(done) {
  try {
    make_folders(folder);
    path_ = new_event_file(folder);
    writer_ = std::make_unique<RecordWriter>(path_);
  } catch (const std::exception& error) {
    throw InputError(70, concat("--tensorboard: cannot write in ", folder, ": ", error.what()),
                     "name a folder where you may write, or leave out --tensorboard");
  }
  append(event_now().bytes(3, "brain.Event:2"));
  // Tells a reader to forget the events of earlier files from this step on.
  ProtobufMessage session;
  session.integer(1, kStart);
  append(event_now().integer(2, done + 1).message(7, session));
}

void EventLog::settings(const std::vector<Setting>& settings) {
  std::string table = "| option | value | given by |\n|---|---|---|\n";
  for (const Setting& setting : settings) {
    table += concat("| ", markdown_cell(setting.key), " | ", markdown_cell(setting.value), " | ",
                    markdown_cell(setting.origin), " |\n");
  }
  write(done_ + 1, {text_value("settings", table)});
}

void EventLog::write(const StepRecord& record) {
  std::vector<ProtobufMessage> values = {
      scalar_value("train/loss", record.loss),
      scalar_value("train/lr", record.lr),
      scalar_value("train/grad_norm", record.grad_norm),
      scalar_value("train/epoch", record.epoch),
      scalar_value("speed/samples_per_s", record.samples_per_s),
      scalar_value("speed/tokens_per_s", record.tokens_per_s),
      scalar_value("time/compute_ms", record.compute_ms),
      scalar_value("time/comm_exposed_ms", record.comm_exposed_ms),
      scalar_value("time/data_wait_ms", record.data_wait_ms)};
  if (record.skipped > 0) {
    values.push_back(scalar_value("train/skipped", static_cast<double>(record.skipped)));
  }
  if (record.loss_scale > 0) values.push_back(scalar_value("train/loss_scale", record.loss_scale));
  for (const auto& [name, value] : record.figures) {
    values.push_back(scalar_value("figures/" + name, value));
  }
  write(record.step, values);
}

void EventLog::write(const EvaluationRecord& record) {
  std::vector<ProtobufMessage> values;
  for (const auto& [key, value] : record.result.scores) {
    values.push_back(scalar_value(concat(record.split, "/", key), value));
  }
  write(record.step, values);
}

void EventLog::weights(std::int64_t step, const std::vector<Weights>& all) {
  std::vector<ProtobufMessage> values;
  for (const Weights& one : all) {
    values.push_back(histogram_value("weights/" + one.name, one.histogram));
  }
  write(step, values);
}

void EventLog::curves(std::int64_t step,
                      const std::string& split,
                      const std::vector<PrCurve>& all) {
  std::vector<ProtobufMessage> values;
  for (const PrCurve& curve : all) {
    values.push_back(curve_value(concat(split, "/", curve.name), curve));
  }
  write(step, values);
}

void EventLog::write(std::int64_t step, const std::vector<ProtobufMessage>& values) {
  ProtobufMessage summary;
  for (const ProtobufMessage& value : values) summary.message(1, value);
  if (!values.empty()) append(event_now().integer(2, step).message(5, summary));
}

void EventLog::append(const ProtobufMessage& event) {
  if (!writer_) return;
  try {
    writer_->write(event.text());
  } catch (const std::exception& error) {
    log(LogLevel::warn, concat("--tensorboard stops here, and training continues: ", error.what()));
    writer_.reset();
  }
}

}  // namespace bp::trainer
