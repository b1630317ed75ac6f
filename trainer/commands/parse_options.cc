#include "trainer/commands/parse_options.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "bp/error.h"
#include "trainer/commands/evaluation_source.h"
#include "trainer/data/encoding.h"
#include "trainer/data/input_error.h"
#include "trainer/data/look_up.h"
#include "trainer/data/numbers.h"
#include "trainer/data/plan.h"
#include "trainer/model/config.h"
#include "trainer/optim/optimizer_options.h"
#include "trainer/optim/schedule.h"
#include "trainer/options/duration.h"
#include "trainer/run/run_settings.h"
#include "trainer/tasks/inputs.h"
#include "trainer/tasks/label_config.h"

namespace bp::trainer {
namespace {

// 0.8,0.1,0.1, or without the last one, which is the rest.
std::array<double, 3> parse_split(const std::string& text) {
  const auto refuse = [&] {
    throw InputError(2, concat("--split: '", text, "' is not two or three shares"),
                     "the shares of train, dev and test: 0.8,0.1,0.1, or 0.8,0.1 with the rest for "
                     "test; or data, as DATA divides them");
  };
  std::array<double, 3> shares{};
  std::size_t count = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (bool more = true; more; ++at) {
    if (count == shares.size()) refuse();
    const auto [stop, error] = std::from_chars(at, end, shares[count++]);
    if (error != std::errc() || (stop != end && *stop != ',')) refuse();
    more = stop != end;
    at = stop;
  }
  if (count < 2) refuse();
  constexpr double kDigits = 1e9;  // 1 - 0.8 - 0.1 is 0.1 to a person
  if (count == 2) shares[2] = std::round((1 - shares[0] - shares[1]) * kDigits) / kDigits;
  require_split(shares);
  return shares;
}

// Whether the folder has a Hugging Face model whose output is a number. A file that cannot be read
// is refused later, with a better hint.
bool predicts_number_in(const std::string& folder) {
  const std::string config = folder + "/config.json";
  try {
    return path_exists(config) && predicts_number(read_config(config));
  } catch (const Error&) {
    return false;
  }
}

void use_split(bool given, const std::string& text, PrepareOptions& prepare) {
  if (text == kSplitOfData) {
    prepare.divider = Divider::data;
    return;
  }
  if (given) prepare.divider = Divider::shares;
  prepare.split = parse_split(text);
}

std::string task_in(const std::vector<std::string>& arguments, Action action) {
  if (std::string typed = typed_value(arguments, "task"); !typed.empty()) return typed;
  if (const std::string config = config_in(arguments); !config.empty()) {
    for (const ConfigValue& value : read_options(config)) {
      if (value.key == "task" && !value.value.empty()) return value.value;
    }
  }
  const bool of_run = action == Action::evaluate || action == Action::predict ||
                      action == Action::export_model || action == Action::merge;
  for (const std::string& argument : arguments) {
    if (!of_run || !folder_exists(argument)) continue;
    if (std::string task = task_of_run(argument); !task.empty()) return task;
    if (predicts_number_in(argument)) return "regress";
  }
  return task_names().front();
}

double parse_target(const std::string& text) {
  const std::optional<double> number = number_of(text);
  if (number && std::isfinite(*number)) return *number;
  throw InputError(2, concat("--target-score: '", text, "' is not a number"),
                   "the score at which the run may end: --target-score 0.9");
}

std::chrono::seconds parse_max_time(const std::string& text) {
  if (const auto time = parse_duration(text)) return *time;
  throw InputError(2, concat("--max-time: '", text, "' is not a time"),
                   "whole numbers with d, h, m or s: 45s, 90m, 2h30m");
}

}  // namespace

void choose_task(const std::vector<std::string>& arguments,
                 const Extensions& extensions,
                 Options& options) {
  options.extensions = extensions;
  options.task_name = task_in(arguments, options.action);
  options.task = make_input(options.task_name, extensions);
  options.prepare.task = options.task;
  options.prepare.max_length = options.task->usual_length();
}

CommandLine parse(OptionSet& set,
                  const std::vector<std::string>& arguments,
                  const RawOptions& raw,
                  Options& o) {
  if (const std::string config = config_in(arguments); !config.empty()) {
    set.preset(read_options(config), config);
  }
  if (std::string text = set.parse(arguments); !text.empty()) return {{}, std::move(text)};
  if (set.has("split")) {
    set.use("split", [&] { use_split(set.given("split"), raw.split, o.prepare); });
  }
  set.use("separator", [&] { o.prepare.separator = parse_separator(raw.separator); });
  if (!raw.betas.empty()) {
    set.use("betas", [&] { std::tie(o.beta1, o.beta2) = parse_betas(raw.betas); });
  }
  if (!raw.target.empty()) {
    set.use("target-score", [&] { o.early_stop.target = parse_target(raw.target); });
  }
  if (!raw.max_time.empty()) {
    set.use("max-time", [&] { o.early_stop.max_time = parse_max_time(raw.max_time); });
  }
  if (!raw.save_every.empty()) {
    set.use("save-every", [&] { o.save_every = parse_save_every(raw.save_every); });
  }
  if (!raw.unfreeze_every.empty()) {
    set.use("unfreeze-every", [&] { o.unfreeze_every = parse_unfreeze_every(raw.unfreeze_every); });
  }
  if (!raw.decay_every.empty()) {
    set.use("decay-every", [&] { o.decay_every = parse_decay_every(raw.decay_every); });
  }
  if (set.has("warmup")) {
    set.use("warmup", [&] {
      const Warmup warmup = parse_warmup(raw.warmup);
      o.warmup = warmup.share;
      o.warmup_epochs = warmup.epochs;
    });
  }
  set.use("encoding", [&] { o.prepare.encoding = parse_encoding(raw.encoding); });
  o.data = without_slashes(o.data);
  if (!o.prepare.more_sources.empty() && is_store(o.data)) {
    throw InputError(2, concat("--also adds the rows of files, and ", o.data, " is a store"),
                     "give the files that it came from, and name another store with --store");
  }
  o.stage = raw.stage;
  o.optimizer_state = !raw.no_optimizer_state;
  o.prepare.lower_case = !raw.cased;
  o.settings = set.settings();
  o.arguments = arguments;
  if (o.task != nullptr) o.task->use_data(o.data);
  return {std::move(o), ""};
}

}  // namespace bp::trainer
