#include "trainer/run/resume.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "base/input_error.h"
#include "base/text.h"
#include "bp/collective.h"
#include "bp/error.h"
#include "trainer/checkpoint/checkpoint_folder.h"
#include "trainer/checkpoint/manifest.h"
#include "trainer/common/look_up.h"
#include "trainer/common/numbers.h"
#include "trainer/common/text_list.h"
#include "trainer/model/families/family.h"
#include "trainer/optim/optimizer_options.h"
#include "trainer/optim/schedule.h"
#include "trainer/train/loop/early_stop.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;

CheckpointState read_checkpoint(const std::string& folder) {
  try {
    return parse_state(text_in(folder + "/state.json"));
  } catch (const Error& error) {
    throw InputError(
        65, concat(folder, "/state.json: ", error.what()),
        "name another checkpoint with --resume PATH, or start over in another folder with --run");
  }
}

// Returns the newest complete one of RUN/checkpoints, or nothing if there is none at all.
std::optional<std::string> newest(const std::string& checkpoints, const Say& say) {
  const CheckpointFolder folder(checkpoints);
  const CheckpointFolder::Found found = folder.newest_complete();
  for (const std::string& skipped : found.skipped) say("skipped " + skipped);
  if (found.step) return folder.of_step(*found.step);
  if (found.skipped.empty()) return std::nullopt;
  throw InputError(65, concat("no checkpoint in ", checkpoints, " is complete"),
                   "start over in another folder with --run");
}

std::string named_checkpoint(const std::string& path, const Say& say) {
  if (!path_exists(path)) {
    throw InputError(66, concat("--resume: ", path, " does not exist"),
                     "auto, never, a checkpoint's folder or a run's");
  }
  if (path_exists(path + "/checkpoints")) {
    if (const auto found = newest(path + "/checkpoints", say)) return *found;
  }
  std::error_code error;
  std::string folder = fs::canonical(path, error).string();  // not `latest`, which will change
  if (error) refuse_look_up(path, error);
  if (const std::string damage = damage_of(folder); !damage.empty()) {
    throw InputError(65, concat("--resume: ", path, " is not a complete checkpoint: ", damage),
                     "--resume auto takes the newest complete one of the run");
  }
  return folder;
}

bool inside(const std::string& folder, const std::string& checkpoints) {
  std::error_code error;
  return fs::equivalent(fs::path(folder).parent_path(), checkpoints, error);
}

std::string quoted(const std::string& value) { return value.empty() ? "not given" : value; }

void compare(std::vector<std::string>& lines,
             const std::string& what,
             const std::string& there,
             const std::string& here) {
  if (there == here) return;
  lines.push_back(
      concat(what, " is ", quoted(there), " in the checkpoint, ", quoted(here), " here"));
}

// Compares what decides a model's shape, by its name in config.json.
std::vector<std::string> shape_differences(const std::string& folder, const EncoderSpec& here) {
  const EncoderSpec saved = read_config(folder + "/config.json");
  std::vector<std::string> lines;
  compare(lines, "the model's model_type", saved.family, here.family);
  if (!lines.empty()) return lines;
  for (const ConfigKey& key : family_of(here).keys) {
    const auto* const size = std::get_if<int EncoderSpec::*>(&key.member);
    if (size == nullptr || *size == &EncoderSpec::pad_id) continue;
    compare(lines, concat("the model's ", key.name), concat(saved.**size), concat(here.**size));
  }
  return lines;
}

// False for a run that was stopped before it had saved anything: starting over loses nothing.
bool holds_something(const RunFolder& run) {
  const CheckpointFolder::Found found = CheckpointFolder(run.checkpoints()).newest_complete();
  return found.step || !found.skipped.empty() || run.finished() || path_exists(run.file("model"));
}

// Compares the options with this rule. A checkpoint that was made before an option existed says
// nothing about it.
void compare_options(std::vector<std::string>& lines,
                     OnResume rule,
                     const std::vector<Setting>& there,
                     const std::vector<Setting>& here) {
  for (const Setting& setting : here) {
    const auto saved = std::ranges::find(there, setting.key, &Setting::key);
    if (setting.on_resume != rule || saved == there.end()) continue;
    compare(lines, setting.key, saved->value, setting.value);
  }
}

// A run that was finished early by --patience, --target-score or --max-time has steps left.
void require_no_early_end(const RunSettings& settings,
                          const RunFolder& folder,
                          const ResumePoint& start,
                          const CurrentRun& current) {
  if (!start.own || !folder.finished()) return;
  const EarlyStop early(settings.early_stop, current.metric, start.state.improvement);
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
                        const RunSettings& settings,
                        const RunFolder& folder,
                        const ResumePoint& start,
                        const CurrentRun& current,
                        const Say& say) {
  const std::vector<std::string> changed = differences(start, current);
  const RowSampler sampler(sampling(settings, current.rows, world.size(), current.lengths));
  const CheckpointState& state = start.state;
  require_steps_left(start, folder,
                     total_steps(settings, sampler, state.step, state.position) - state.step);
  require_no_early_end(settings, folder, start, current);
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
  if (!changed.empty() || !state.optimizer_state) {
    say("  so the results may differ from those of an uninterrupted run");
  }
}

std::string host_names(const Topology& topology) {
  std::string names;
  for (int host = 0; host < topology.hosts(); ++host) {
    names += (host == 0 ? "" : ",") + topology.host_name(host);
  }
  return names;
}

}  // namespace

ResumePoint choose_resume_point(const RunFolder& run, const std::string& resume, const Say& say) {
  ResumePoint point;
  if (resume == "never") return point;
  if (resume == "auto") {
    if (const auto found = newest(run.checkpoints(), say)) {
      point.folder = *found;
    } else if (run.finished() || path_exists(run.file("model"))) {
      throw InputError(2, concat("the run's folder ", run.path(), " already holds a result"),
                       "choose another with --run, or remove it");
    }
  } else {
    point.folder = named_checkpoint(resume, say);
  }
  point.own = !point.folder.empty() && inside(point.folder, run.checkpoints());
  if (!point.folder.empty() && !point.own && holds_something(run)) {
    throw InputError(2,
                     concat("the run's folder ", run.path(), " already exists, and ", resume,
                            " is not its own checkpoint"),
                     "choose another folder with --run");
  }
  if (!point.folder.empty()) point.state = read_checkpoint(point.folder);
  return point;
}

std::vector<std::string> differences(const ResumePoint& point, const CurrentRun& current) {
  const CheckpointState& state = point.state;
  std::vector<std::string> refused;
  std::string as_before;  // the options that must be as they were
  const auto must_be = [&](const std::string& key, const std::string& there,
                           const std::string& here) {
    compare(refused, key, there, here);
    if (there != here && !there.empty()) as_before += concat(" --", key, " ", there);
  };
  must_be("seed", value_of(state.options, "seed"), concat(current.seed));
  const std::string saved = value_of(state.options, "optimizer");
  const std::string optimizer = saved.empty() ? kAdamW : saved;  // old ones had no choice
  const bool other_optimizer = !current.reset.optimizer && optimizer != current.optimizer;
  if (!current.reset.optimizer) must_be("optimizer", optimizer, current.optimizer);
  if (current.optimizer == saved &&
      !current.reset.optimizer) {  // without momentum, sgd keeps no sum of gradients
    must_be("momentum", value_of(state.options, "momentum"), value_of(current.options, "momentum"));
  }
  const auto shared = [&](const char* key, const std::string& without) {
    // Old ones had no adapters, and a default is saved as nothing.
    const auto effective = [&](const std::vector<Setting>& options) {
      const std::string value = value_of(options, key);
      return value.empty() ? without : value;
    };
    must_be(key, effective(state.options), effective(current.options));
  };
  shared("lora", "0");
  if (!current.base_hash.empty() && refused.empty()) {
    shared("lora-targets", "query,value");
    shared("lora-alpha", "16");
    const std::string known = concat(point.folder, "/", kAdapterBaseFile);
    if (!path_exists(known) || base_hash_in(known) != current.base_hash) {
      refused.emplace_back("--model is not the model beside which the adapters were trained");
    }
  }
  for (std::string& line : shape_differences(point.folder, current.config)) {
    refused.push_back(std::move(line));
  }
  const bool same_data = state.store == current.store && state.rows == current.rows;
  if (!same_data && !current.reset.data) {
    refused.emplace_back("the data is not what the checkpoint was trained on");
    compare_options(refused, OnResume::reason, state.options, current.options);
  }
  if (!refused.empty()) {
    throw InputError(
        2, concat("cannot resume from ", point.folder, ": ", list_of(refused, "; ")),
        concat("give", as_before.empty() ? " data and model" : as_before, " as before, ",
               other_optimizer ? "let the optimizer begin again with --reset-optimizer, " : "",
               "or start over in another folder with --run"));
  }

  // Options that change the steps to come, which a user may want.
  std::vector<std::string> lines;
  compare_options(lines, OnResume::told, state.options, current.options);
  for (const auto& [key, there] : state.summation) {
    for (const auto& [own_key, here] : current.summation) {
      if (own_key == key) compare(lines, key, there, here);
    }
  }
  return lines;
}

void require_steps_left(const ResumePoint& point, const RunFolder& run, std::int64_t steps_left) {
  if (point.folder.empty() || steps_left > 0) return;
  const std::int64_t step = point.state.step;
  if (steps_left < 0) {
    throw InputError(2,
                     concat("the run would end before ", point.folder, ", which is at step ", step,
                            " in epoch ", point.state.position.epoch + 1),
                     "give more --epochs or --steps, or start over in another folder with --run");
  }
  if (point.own && run.finished()) {
    throw InputError(
        2, concat("the run in ", run.path(), " is finished, with ", step, " steps"),
        "choose another folder with --run, or train longer with more --epochs or --steps");
  }
}

ResumePoint agree_on_start(Communicator& world,
                           const RunSettings& settings,
                           const RunFolder* folder,
                           const CurrentRun& compared,
                           const Say& say) {
  ResumePoint start;
  CurrentRun current = compared;
  if (folder != nullptr) {
    start = choose_resume_point(*folder, settings.resume, say);
    current.reset = due_resets(start, settings.reset);
    if (start.folder.empty()) require_nothing_to_reset(settings.reset);
    adapt(start, current);
    if (!start.folder.empty()) {
      check_resume_point(world, settings, *folder, start, current, say);
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
