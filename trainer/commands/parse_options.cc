#include "trainer/commands/parse_options.h"

#include <utility>

#include "base/text.h"
#include "bp/error.h"
#include "trainer/commands/evaluation_source.h"
#include "trainer/data/input_error.h"
#include "trainer/data/look_up.h"
#include "trainer/model/config.h"
#include "trainer/options/config_file.h"
#include "trainer/run/run_settings.h"
#include "trainer/tasks/inputs.h"
#include "trainer/tasks/label_config.h"

namespace bp::trainer {
namespace {

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

CommandLine parse(OptionSet& set, const std::vector<std::string>& arguments, Options& o) {
  if (const std::string config = config_in(arguments); !config.empty()) {
    set.preset(read_options(config), config);
  }
  if (std::string text = set.parse(arguments); !text.empty()) return {{}, std::move(text)};
  o.data = without_slashes(o.data);
  if (!o.prepare.more_sources.empty() && is_store(o.data)) {
    throw InputError(2, concat("--also adds the rows of files, and ", o.data, " is a store"),
                     "give the files that it came from, and name another store with --store");
  }
  o.settings = set.settings();
  for (Setting& setting : o.settings) {
    if (setting.key == "data") setting.value = o.data;
  }
  o.arguments = arguments;
  if (o.task != nullptr) o.task->use_data(o.data);
  return {std::move(o), ""};
}

}  // namespace bp::trainer
