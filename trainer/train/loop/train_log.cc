#include "trainer/train/loop/train_log.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include "base/text.h"
#include "trainer/report/shown_text.h"
#include "trainer/train/loop/sweep_metric.h"

namespace bp::trainer {
namespace {

constexpr std::int64_t kRecords = 500;  // about this number in a long run

// A line with the figures of training is at most about as long as this.
constexpr std::size_t kLongestLine = 90;

// Counters only grow, and a kind that has appeared keeps its index.
Counters difference(Counters now, const Counters& before) {
  const auto subtract = [](auto& from, const auto& what) {
    from.operations -= what.operations;
    from.bytes -= what.bytes;
    from.seconds_busy -= what.seconds_busy;
    from.seconds_waiting -= what.seconds_waiting;
  };
  subtract(now, before);
  for (std::size_t i = 0; i < before.kinds.size(); ++i) subtract(now.kinds[i], before.kinds[i]);
  std::erase_if(now.kinds, [](const Counters::Kind& kind) { return kind.operations == 0; });
  return now;
}

}  // namespace

TrainLog::TrainLog(const std::string& metrics,
                   std::int64_t steps,
                   std::int64_t done,
                   const RunTotals& before,
                   const Counters& comm,
                   EventLog* events,
                   std::int64_t every)
    : steps_(steps),
      every_(every > 0 ? every : std::clamp<std::int64_t>(steps / kRecords, 1, 100)),
      events_(events),
      done_(done),
      totals_(before),
      recorded_(comm) {
  if (metrics.empty()) return;
  metrics_ = std::make_unique<MetricsWriter>(metrics, done);
  progress_ = std::make_unique<Progress>(steps);
}

template <class Record>
void TrainLog::write(const Record& record) {
  if (metrics_) {
    metrics_->write(record);
    if (is_in_sweep()) tell_sweep(to_json_line(record));
  }
  if (events_ != nullptr) events_->write(record);
}

bool TrainLog::records(std::int64_t step) const {
  return step == 1 || step % every_ == 0 || step == steps_;
}

void TrainLog::figures(const std::vector<Figure>& sums, double epoch) {
  add(sums_.figures, sums);
  add(totals_.figures, sums, epoch);
}

void TrainLog::step(const StepFacts& facts) {
  ++done_;
  totals_.samples += facts.samples;
  totals_.tokens += facts.tokens;
  totals_.seconds += facts.total.count();
  totals_.seconds_exposed += facts.exposed.count();
  totals_.gradient_bytes += facts.gradient_bytes;
  totals_.skipped += facts.skipped ? 1 : 0;
  totals_.split_batches += facts.split_batches;

  ++sums_.steps;
  sums_.samples += facts.samples;
  sums_.tokens += facts.tokens;
  sums_.skipped += facts.skipped ? 1 : 0;
  sums_.split_batches += facts.split_batches;
  if (!facts.skipped || std::isfinite(facts.loss)) {  // otherwise it says nothing about the model
    sums_.losses += facts.samples;
    sums_.loss += facts.loss * static_cast<double>(facts.samples);
  }
  sums_.data_wait += facts.data_wait.count();
  sums_.exposed += facts.exposed.count();
  sums_.total += facts.total.count();
  if (records(done_)) write_record(facts);
  if (progress_) progress_->update({done_, totals_.samples, facts.loss, totals_.skipped});
  if (facts.skipped) tell_skipped(facts);
}

// Reports the first skipped step with an explanation, and then each doubling of their number, since
// a run may have many.
void TrainLog::tell_skipped(const StepFacts& facts) {
  const std::int64_t count = totals_.skipped;
  if (!std::has_single_bit(static_cast<std::uint64_t>(count))) return;
  say(concat("step ", done_, ": skipped, because the gradient overflowed (its norm is ",
             std::isnan(facts.grad_norm) ? "nan" : "inf",
             facts.loss_scale > 0 ? concat(", the loss scale ", facts.loss_scale) : "", "); ",
             count == 1 ? "the weights stay as they were, and training continues"
                        : concat(count, " steps were skipped so far")));
}

void TrainLog::write_record(const StepFacts& last) {
  const auto steps = static_cast<double>(sums_.steps);
  const double milliseconds = 1000 / steps;
  StepRecord record;
  record.step = done_;
  record.epoch = last.epoch;
  record.samples = totals_.samples;
  record.loss = sums_.losses > 0 ? sums_.loss / static_cast<double>(sums_.losses) : last.loss;
  record.lr = last.lr;
  record.grad_norm = last.grad_norm;
  record.skipped = sums_.skipped;
  record.split_batches = sums_.split_batches;
  record.loss_scale = last.loss_scale;
  record.rows = last.rows;
  record.figures = means_of(sums_.figures);
  record.samples_per_s = static_cast<double>(sums_.samples) / sums_.total;
  record.tokens_per_s = static_cast<double>(sums_.tokens) / sums_.total;
  record.data_wait_ms = sums_.data_wait * milliseconds;
  record.comm_exposed_ms = sums_.exposed * milliseconds;
  record.compute_ms = (sums_.total - sums_.data_wait - sums_.exposed) * milliseconds;
  record.comm = difference(last.comm, recorded_);
  recorded_ = last.comm;
  totals_.loss = record.loss;
  sums_ = {};
  write(record);
}

void TrainLog::evaluated(double epoch,
                         const std::string& split,
                         const EvaluationSummary& result,
                         const MainScore& main) {
  const EvaluationRecord record{done_, epoch, totals_.samples, split, result};
  write(record);
  const auto shown = [&](const std::string& key) {  // a loss that is no number is shown as such
    const double score = result.at(key);
    return concat(key, ' ', std::isfinite(score) ? score_text(score) : fixed(score, 4));
  };
  const std::string own = main.key == "loss" ? "" : shown(main.key) + ", ";
  const std::string line =
      concat("step ", done_, ", epoch ", brief(epoch), ": ", split, " ", own, shown("loss"));
  const std::string figures =
      totals_.figures.empty() ? "" : text_of(means_of(totals_.figures.back().sums));
  const bool fits = !figures.empty() && line.size() + figures.size() < kLongestLine;
  say(fits ? concat(line, "; train ", figures) : line);
  resume_clock();
}

void TrainLog::resume_clock() {
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
  result.seconds = totals_.seconds;
  result.loss = totals_.loss;
  result.skipped = totals_.skipped;
  result.split_batches = totals_.split_batches;
  result.figures = totals_.figures;
  if (totals_.seconds > 0) {
    result.samples_per_s = static_cast<double>(totals_.samples) / totals_.seconds;
    result.tokens_per_s = static_cast<double>(totals_.tokens) / totals_.seconds;
  }
  return result;
}

}  // namespace bp::trainer
