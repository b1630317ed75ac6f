#include <cstdint>
#include <optional>

#include "base/input_error.h"
#include "base/text.h"
#include "bp/collective.h"
#include "trainer/commands/commands.h"
#include "trainer/commands/model_source.h"
#include "trainer/commands/results.h"
#include "trainer/commands/run_precision.h"
#include "trainer/common/stop_signals.h"
#include "trainer/gpu/use_gpu.h"
#include "trainer/prepare/plan.h"
#include "trainer/run/store_users.h"
#include "trainer/share/shared_data.h"
#include "trainer/share/temporary_folder.h"
#include "trainer/store/sample_store.h"
#include "trainer/tasks/scorer.h"
#include "trainer/train/loop/evaluate.h"
#include "trainer/train/loop/precision_difference.h"

namespace bp::trainer {
namespace {

bool holds(const std::string& path, const std::string& identity) {
  try {
    return SampleStore::open(path).identity() == identity;
  } catch (const StoreError&) {
    return false;
  }
}

// Where the leader of a host has the store, or prepares it.
struct StoreLocation {
  std::string path = {};
  bool exists = false;  // and holds the data
};

StoreLocation find_store(const JobData& data,
                         const EvaluationPlan& plan,
                         const std::optional<std::string>& trained_on,
                         std::optional<TemporaryFolder>& temporary) {
  if (data.is_store) return {data.prepare.source, true};
  if (plan.own && trained_on) {
    const std::string own = store_path(data.prepare);
    if (holds(own, *trained_on)) return {own, true};
  }
  if (plan.store_is_typed) return {data.prepare.store};
  temporary.emplace();
  return {temporary->path() + "/store.sqlite"};
}

// Collective. If the run's own data is scored, opens the run's store, as long as it holds what the
// run was trained on. Otherwise prepares the data with the model's vocabulary. This writes nothing
// beside the user's files: a file is prepared in a temporary folder of each host, which does not
// outlive the call, unless --store names another place. Throws what prepare_everywhere() throws,
// Interrupted, and InputError (65) if the run's own data has changed since it was trained.
SampleStore open_evaluation_data(Communicator& world,
                                 JobData data,
                                 const EvaluationPlan& plan,
                                 const Say& say) {
  const bool leads = world.topology().local_rank() == 0;
  const std::optional<std::string> trained_on =
      plan.own ? identity_of_data(plan.source.run) : std::nullopt;
  std::optional<TemporaryFolder> temporary;
  const std::string name = data.prepare.source;
  if (leads) {
    const StoreLocation store = find_store(data, plan, trained_on, temporary);
    data.is_store = store.exists;
    if (store.exists) data.prepare.source = store.path;
    data.prepare.store = store.path;
  }
  data.prepare.store = of_leader(world, data.prepare.store);
  data.prepare.may_rebuild = false;

  const std::string hidden = temporary ? temporary->path() : "";
  const auto say_visible = [&](const std::string& text) {
    if (hidden.empty() || text.find(hidden) == std::string::npos) say(text);
  };
  std::string path;
  try {
    path = prepare_everywhere(world, data, say_visible);
  } catch (const Interrupted&) {
    if (!temporary) throw;
    throw Interrupted(concat("stopped on request while preparing ", name),
                      "the same command starts again");
  }
  SampleStore store = SampleStore::open(path);
  if (trained_on && store.identity() != *trained_on) {
    throw InputError(65, concat(name, " is no longer what ", plan.source.run, " was trained on"),
                     concat("its splits are unknown now; to score all of a file: bert_train eval ",
                            plan.source.run, " FILE"));
  }
  barrier(world,
          {.name = "store opened"});  // all ranks have opened the file, which may now be removed
  return store;
}

}  // namespace

int run_command(Communicator& world, const EvaluateOptions& options) {
  const RankDevice rank_device = choose_device(world, options.device);
  const EvaluationPlan& plan = options.plan;
  const Say say = say_on_rank_0(world);
  if (world.rank() == 0) require_writable(options.out);
  const ModelSource source = find_model(plan.source.model, *options.task, options.extensions);
  const Precision precision = precision_of_evaluation(world, options.precision, rank_device);
  const auto model = load_model(world, source, device_of(rank_device), precision);
  JobData data = job_data(world, options);
  data.prepare.lower_case = source.tokenizer.lower_case;
  if (plan.whole) {
    data.prepare.scored = true;
    (void)options.task->score_by(model->config());
  }
  const SampleStore store = open_evaluation_data(world, data, plan, say);
  check_samples(store, source, *options.task);
  const Split split = chosen_split(options.on, store);
  const std::string name = plan.whole ? options.prepare.source : name_of(split);
  if (plan.seen) {
    say(concat("note: ", plan.source.run, " was trained on a part of ", name,
               "; without DATA its own test split is scored"));
  }
  if (precision != Precision::fp32 && world.rank() == 0) {
    constexpr std::int64_t kCompared = 8;  // blocks
    const auto blocks = first_blocks(*options.task, store, split, kCompared);
    say(text_of(difference_from_fp32(*model, blocks), precision));
  }
  const auto scorer = source.task->make_scorer(store.names(), model->config(), {&store, split});
  if (!evaluate(world, *model, *options.task, store, split, *scorer)) {
    say(concat("stopped on request while scoring ", name, "; nothing was written"));
    return stop_exit_code();
  }
  if (world.rank() != 0) return 0;
  if (!options.out.empty()) scorer->write_predictions(options.out);
  print_results(*scorer, {store, split, name}, options.out);
  if (!options.out.empty()) print_line("predictions  " + options.out);
  return 0;
}

}  // namespace bp::trainer
