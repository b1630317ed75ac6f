#include "trainer/run/start.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "bp/collective.h"
#include "trainer/checkpoint/checkpoint_folder.h"
#include "trainer/data/input_error.h"
#include "trainer/data/look_up.h"
#include "trainer/data/numbers.h"
#include "trainer/optim/schedule.h"
#include "trainer/options/sampling.h"
#include "trainer/train/early_stop.h"

namespace bp::trainer {
namespace {

// A run that was finished early by --patience, --target-score or --max-time has steps left.
void require_no_early_end(const Options& options,
                          const RunFolder& folder,
                          const ResumePoint& start,
                          const CurrentRun& current) {
  if (!start.own || !folder.finished()) return;
  const EarlyStop early(options.early_stop, current.metric, start.state.improvement);
  const std::optional<RunEnd> end = early.reason(start.state.elapsed);
  if (!end) return;
  throw InputError(2,
                   concat("the run in ", folder.path(), " is finished: it ended after step ",
                          start.state.step, ", because ", early.explain(*end)),
                   concat("train on with another --", name_of(*end),
                          " or without it, or choose another folder with --run"));
}

// Returns what begins again here. A run resets once: it does not when it resumes from its own
// checkpoints later, with the same options.
Resets due_resets(const ResumePoint& start, const Resets& asked) {
  const auto due = [&](bool is_asked, const char* option) {
    return is_asked && !(start.own && value_of(start.state.options, option) == "true");
  };
  return {due(asked.schedule, "reset-schedule"), due(asked.optimizer, "reset-optimizer"),
          due(asked.data, "reset-data"), due(asked.meters, "reset-meters")};
}

void require_nothing_to_reset(const Resets& asked) {
  for (const auto& [option, is_asked] :
       {std::pair("--reset-schedule", asked.schedule),
        std::pair("--reset-optimizer", asked.optimizer), std::pair("--reset-data", asked.data),
        std::pair("--reset-meters", asked.meters)}) {
    if (!is_asked) continue;
    throw InputError(2, concat(option, " has no effect: there is no checkpoint to resume from"),
                     concat("add --resume PATH, or leave out ", option));
  }
}

void reset(const Resets& what, CheckpointState& state) {
  if (what.optimizer) {
    state.optimizer_state = false;
    state.loss_scale = 0;
    state.good_windows = 0;
  }
  if (what.data) state.position = {};
  if (what.schedule) {
    state.schedule_step = state.step;
    state.schedule_position = state.position;
  } else if (what.data) {
    state.schedule_position = {};
  }
  if (what.meters) {
    state.totals = {};
    state.best.clear();
    state.improvement = {};
    state.elapsed = 0;
  }
}

// Leaves out what does not hold for the run that resumes: results of another run, and counts of
// evaluations by another score.
void adapt(ResumePoint& start, const CurrentRun& current) {
  CheckpointState& state = start.state;
  reset(current.reset, state);
  if (!start.own) {
    state.best.clear();
    state.elapsed = 0;
  }
  const bool same_score = value_of(state.options, "best-metric") == current.metric.key;
  if (!start.own || !same_score) state.improvement = {};
  rank_again(state.best, current.metric);
  // The order of buckets names the trained parameters by their number.
  const bool same_parts = value_of(state.options, "freeze") == value_of(current.options, "freeze");
  if (!same_parts) state.bucket_order.clear();
}

void check_resume_point(Communicator& world,
                        const Options& options,
                        const RunFolder& folder,
                        const ResumePoint& start,
                        const CurrentRun& current,
                        const Say& say) {
  const std::vector<std::string> changed = differences(start, current);
  const Sampler sampler(sampling(options, current.rows, world.size(), current.lengths));
  const CheckpointState& state = start.state;
  require_steps_left(start, folder,
                     total_steps(options, sampler, state.step, state.position) - state.step);
  require_no_early_end(options, folder, start, current);
  say(concat("resuming from ", start.folder, ", in epoch ", state.position.epoch + 1, " after ",
             with_commas(state.position.used), " of ", with_commas(state.rows), " samples"));
  for (const std::string& line : changed) say("  " + line);
  if (!state.optimizer_state) {
    say(current.reset.optimizer ? "  the optimizer begins again (--reset-optimizer)"
                                : "  the checkpoint has no state of the optimizer "
                                  "(--no-optimizer-state), which begins again");
  }
  if (current.reset.schedule) say("  the schedule begins again (--reset-schedule)");
  if (current.reset.data) say("  the data begins again (--reset-data)");
  if (current.reset.meters) say("  totals and best scores begin again (--reset-meters)");
  if (!changed.empty() || !state.optimizer_state)
    say("  so the results may differ from those of an uninterrupted run");
}

std::string host_names(const Topology& topology) {
  std::string names;
  for (int host = 0; host < topology.hosts(); ++host) {
    names += (host == 0 ? "" : ",") + topology.host_name(host);
  }
  return names;
}

}  // namespace

ResumePoint agree_on_start(Communicator& world,
                           const Options& options,
                           const RunFolder* folder,
                           const CurrentRun& compared,
                           const Say& say) {
  ResumePoint start;
  CurrentRun current = compared;
  if (folder != nullptr) {
    start = choose_resume_point(*folder, options.resume, say);
    current.reset = due_resets(start, options.reset);
    if (start.folder.empty()) require_nothing_to_reset(options.reset);
    adapt(start, current);
    if (!start.folder.empty()) {
      check_resume_point(world, options, *folder, start, current, say);
    } else if (path_exists(folder->file("config.yaml"))) {
      say(concat("no checkpoint yet in ", folder->path(), ": starting at step 0"));
    }
  }
  std::string state = to_json(start.state);
  broadcast_object(world, state, {.name = "where to start"});
  start.state = parse_state(state);
  start.state.rows = current.rows;
  start.state.store = current.store;
  start.state.hosts = host_names(world.topology());
  start.state.summation = current.summation;
  start.state.options = current.options;
  return start;
}

void prepare_folder(const RunFolder& folder,
                    const ResumePoint& start,
                    const std::vector<std::string>& of_task) {
  folder.remove_results(of_task);
  const CheckpointFolder checkpoints(folder.checkpoints());
  if (!start.own) {
    checkpoints.remove_leftovers();
    return;
  }
  checkpoints.resume_after(start.state.step, steps_of(start.state.best));
}

}  // namespace bp::trainer
