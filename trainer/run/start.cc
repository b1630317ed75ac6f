#include "trainer/run/start.h"

#include <optional>
#include <vector>

#include "base/text.h"
#include "bp/collective.h"
#include "trainer/checkpoint/checkpoint_folder.h"
#include "trainer/data/input_error.h"
#include "trainer/data/look_up.h"
#include "trainer/data/numbers.h"
#include "trainer/optim/schedule.h"
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

// Leaves out what does not hold for the run that resumes: results of another run, and counts of
// evaluations by another score.
void adapt(ResumePoint& start, const CurrentRun& current) {
  CheckpointState& state = start.state;
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
  const Sampler sampler(
      {current.rows, options.seed, world.size(), options.batch, options.accumulate});
  const CheckpointState& state = start.state;
  require_steps_left(start, folder,
                     total_steps(options, sampler, state.step, state.position) - state.step);
  require_no_early_end(options, folder, start, current);
  say(concat("resuming from ", start.folder, ", in epoch ", state.position.epoch + 1, " after ",
             with_commas(state.position.used), " of ", with_commas(state.rows), " samples"));
  for (const std::string& line : changed) say("  " + line);
  if (!state.optimizer_state) {
    say("  the checkpoint has no state of the optimizer (--no-optimizer-state), which begins "
        "again");
  }
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
                           const CurrentRun& current,
                           const Say& say) {
  ResumePoint start;
  if (folder != nullptr) {
    start = choose_resume_point(*folder, options.resume, say);
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
