#include "trainer/train/train_log.h"

#include <algorithm>

#include "comm/base/text.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {
namespace {

constexpr std::int64_t kRecords = 500;  // about as many as a long run should have

}  // namespace

TrainLog::TrainLog(const std::string& metrics, std::int64_t steps)
    : steps_(steps), every_(std::clamp<std::int64_t>(steps / kRecords, 1, 100)) {
  if (metrics.empty()) return;
  metrics_ = std::make_unique<MetricsWriter>(metrics);
  progress_ = std::make_unique<Progress>(steps);
}

void TrainLog::step(const StepFacts& facts) {
  ++done_;
  epoch_ = facts.epoch;
  samples_ += facts.samples;
  tokens_ += facts.tokens;
  seconds_ += facts.total.count();
  exposed_total_ += facts.exposed.count();

  ++sums_.steps;
  sums_.samples += facts.samples;
  sums_.tokens += facts.tokens;
  sums_.loss += facts.loss * static_cast<double>(facts.samples);
  sums_.data_wait += facts.data_wait.count();
  sums_.exposed += facts.exposed.count();
  sums_.total += facts.total.count();
  if (done_ == 1 || done_ % every_ == 0 || done_ == steps_) write_record(facts);
  if (progress_) progress_->update({done_, samples_, facts.loss});
}

void TrainLog::write_record(const StepFacts& last) {
  const auto steps = static_cast<double>(sums_.steps);
  const double milliseconds = 1000 / steps;
  StepRecord record;
  record.step = done_;
  record.epoch = last.epoch;
  record.samples = samples_;
  record.loss = sums_.loss / static_cast<double>(std::max<std::int64_t>(1, sums_.samples));
  record.lr = last.lr;
  record.grad_norm = last.grad_norm;
  record.samples_per_s = static_cast<double>(sums_.samples) / sums_.total;
  record.tokens_per_s = static_cast<double>(sums_.tokens) / sums_.total;
  record.data_wait_ms = sums_.data_wait * milliseconds;
  record.comm_exposed_ms = sums_.exposed * milliseconds;
  record.compute_ms = (sums_.total - sums_.data_wait - sums_.exposed) * milliseconds;
  last_loss_ = record.loss;
  sums_ = {};
  if (metrics_) metrics_->write(record);
}

void TrainLog::evaluated(const std::string& split, const EvaluationSummary& result) {
  if (metrics_) metrics_->write(EvaluationRecord{done_, epoch_, samples_, split, result});
  say(concat("step ", done_, ", epoch ", brief(epoch_), ": ", split, " accuracy ",
             fixed(result.accuracy, 4), ", loss ", fixed(result.loss, 4)));
  if (progress_) progress_->resume_clock();
}

void TrainLog::say(const std::string& text) {
  if (progress_) progress_->say(text);
}

void TrainLog::finish() {
  if (progress_) progress_->finish();
}

TrainSummary TrainLog::summary() const {
  TrainSummary result;
  result.seconds = seconds_;
  result.loss = last_loss_;
  if (seconds_ > 0) {
    result.samples_per_s = static_cast<double>(samples_) / seconds_;
    result.tokens_per_s = static_cast<double>(tokens_) / seconds_;
  }
  return result;
}

}  // namespace bp::trainer
