#include "trainer/commands/parse_commands.h"

#include <algorithm>

#include "base/input_error.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/commands/unknown_option.h"
#include "trainer/common/look_up.h"
#include "trainer/model/config.h"
#include "trainer/options/config_file.h"
#include "trainer/prepare/plan.h"
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

std::string task_in(const std::vector<std::string>& arguments, bool of_run) {
  if (std::string typed = typed_value(arguments, "task"); !typed.empty()) return typed;
  if (const std::string config = config_in(arguments); !config.empty()) {
    for (const ConfigValue& value : read_options(config)) {
      if (value.key == "task" && !value.value.empty()) return value.value;
    }
  }
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
                 bool of_run,
                 TaskOptions& options) {
  options.extensions = extensions;
  options.task_name = task_in(arguments, of_run);
  options.task = make_input(options.task_name, extensions);
}

void choose_task(const std::vector<std::string>& arguments,
                 const Extensions& extensions,
                 bool of_run,
                 DataOptions& options) {
  choose_task(arguments, extensions, of_run, static_cast<TaskOptions&>(options));
  options.prepare.task = options.task;
  options.prepare.max_length = options.task->usual_length();
}

std::string parse(OptionSet& set, const std::vector<std::string>& arguments) {
  if (const std::string config = config_in(arguments); !config.empty()) {
    const std::vector<ConfigValue> values = read_options(config);
    for (const ConfigValue& value : values) {
      const auto is_own = [&](const Option& option) {
        return lower_case(option.name) == value.key;
      };
      const std::string answer = answer_for_foreign(value.key);
      if (!answer.empty() && std::ranges::none_of(set.options(), is_own)) {
        throw InputError(2, concat(value.place, ": unknown key '", value.key, "'"), answer);
      }
    }
    set.preset(values, config);
  }
  return set.parse(arguments);
}

std::string parse(OptionSet& set, const std::vector<std::string>& arguments, DataOptions& o) {
  try {
    if (std::string text = parse(set, arguments); !text.empty()) return text;
  } catch (const UnknownOption& unknown) {
    const std::string answer = answer_of_tasks(unknown.word(), o);
    if (answer.empty()) throw;
    throw InputError(2, unknown.what(), answer);
  }
  std::string& data = o.prepare.source;
  data = without_slashes(data);
  if (!o.prepare.more_sources.empty() && is_store(data)) {
    throw InputError(2, concat("--also adds the rows of files, and ", data, " is a store"),
                     "give the files that it came from, and name another store with --store");
  }
  o.prepare.seed = o.data_seed < 0 ? o.seed : static_cast<std::uint64_t>(o.data_seed);
  o.task->use_data(data);
  return "";
}

}  // namespace bp::trainer
