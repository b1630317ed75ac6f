#include "trainer/checkpoint/checkpoints.h"

#include <chrono>

#include "base/text.h"
#include "bp/log.h"
#include "trainer/data/whole_file.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

}  // namespace

Checkpoints::Checkpoints(const CheckpointsOptions& options, const Bert& model)
    : options_(options),
      snapshot_(model, options.moments, options.averaged),
      writer_(options.folder,
              {.last = options.keep, .every = options.keep_every},
              options.last,
              options.published) {
  writer_.before_the_first([this] { snapshot_.prepare(); });
}

void Checkpoints::save(const CheckpointState& state,
                       const Bert& model,
                       torch::optim::Optimizer& optimizer,
                       const std::vector<at::Tensor>* averages) {
  if (writer_.last_begun() == state.step) return;
  const auto begin = Clock::now();
  writer_.wait();
  const auto waited = Clock::now();
  snapshot_.take(model, optimizer, averages);
  writer_.start(state, [this](const std::string& folder) {
    snapshot_.write(folder);
    for (const auto& [name, text] : options_.texts) write_whole_file(folder + "/" + name, text);
    options_.before_publishing();
  });
  const auto end = Clock::now();
  log(LogLevel::debug,
      concat("checkpoint of step ", state.step, ": training stopped for ",
             fixed(milliseconds(end - begin), 1), " ms, ", fixed(milliseconds(waited - begin), 1),
             " of them for the previous one"));
}

}  // namespace bp::trainer
