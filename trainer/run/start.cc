#include "trainer/run/start.h"

#include <optional>
#include <vector>

#include "base/text.h"
#include "bp/collective.h"
#include "trainer/checkpoint/checkpoint_folder.h"
#include "trainer/data/look_up.h"
#include "trainer/data/numbers.h"
#include "trainer/optim/schedule.h"

namespace bp::trainer {
namespace {

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
  say(concat("resuming from ", start.folder, ", in epoch ", state.position.epoch + 1, " after ",
             with_commas(state.position.used), " of ", with_commas(state.rows), " samples"));
  for (const std::string& line : changed) say("  " + line);
  if (!changed.empty()) say("  so the results may differ from those of an uninterrupted run");
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
    if (!start.folder.empty()) {
      check_resume_point(world, options, *folder, start, current, say);
    } else if (path_exists(folder->file("config.yaml"))) {
      say(concat("no checkpoint yet in ", folder->path(), ": starting at step 0"));
    }
    if (!start.own) start.state.best.clear();  // another run's
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
