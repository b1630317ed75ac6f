#include "trainer/commands/program_help.h"

#include <algorithm>

#include "base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/options/bash_completion.h"
#include "trainer/options/config_file.h"
#include "trainer/options/help_json.h"
#include "trainer/options/help_request.h"
#include "trainer/tasks/inputs.h"

namespace bp::trainer {
namespace {

// Returns what a command's --help=json has of it, with the options of this task.
Json described(const Command& command, const std::string& task, const Extensions& extensions) {
  const CommandLine line = command.parse({"--help=json", "--task", task}, extensions);
  return Json::parse(line.instead).at("commands").at(0);
}

// Adds the options that `known` lacks.
void add_options(Json& known, const Json& more) {
  for (const Json& option : more) {
    const bool there = std::ranges::any_of(
        known, [&](const Json& other) { return other.at("name") == option.at("name"); });
    if (!there) known.push_back(option);
  }
}

std::string completion(std::span<const Command> commands, const Extensions& extensions) {
  Json all = Json::array();
  for (const Command& command : commands) {
    const std::vector<std::string> tasks = task_names(extensions);
    Json one = described(command, tasks.front(), extensions);
    for (const std::string& task : tasks) {
      add_options(one["options"], described(command, task, extensions).at("options"));
    }
    one["name"] = command.name;
    all.push_back(std::move(one));
  }
  return bash_completion(all);
}

}  // namespace

std::string commands_text(std::span<const Command> commands) {
  constexpr std::size_t kIndent = 28;
  std::string text = "Other commands (each with its own --help):\n";
  for (const Command& command : commands) {
    if (command.name.empty()) continue;
    std::string line = concat("  bert_train ", command.name, " ", command.usage);
    if (line.size() + 2 > kIndent) {
      text += line + "\n";
      line.clear();
    }
    line.resize(kIndent, ' ');
    text += concat(line, command.sentence, "\n");
  }
  return text;
}

std::string program_help(const std::vector<std::string>& arguments,
                         std::span<const Command> commands,
                         const Extensions& extensions) {
  if (const std::string shell = typed_value(arguments, "completion"); !shell.empty()) {
    if (shell == "bash") return completion(commands, extensions);
    throw InputError(2, concat("--completion: '", shell, "' is none of bash"),
                     "source <(bert_train --completion bash)");
  }
  if (arguments.empty() || !arguments.front().starts_with('-')) return "";
  const HelpRequest request = help_in(arguments);
  if (!request.asked) return "";
  if (request.topic == "json") {
    const std::string typed = typed_value(arguments, "task");
    Json all = Json::array();
    for (const Command& command : commands) {
      all.push_back(
          described(command, typed.empty() ? task_names(extensions).front() : typed, extensions));
    }
    return help_json(all);
  }
  const auto same = std::ranges::find(commands, request.topic, &Command::name);
  if (request.topic.empty() || same == commands.end()) return "";
  return same->parse({"--help"}, extensions).instead;
}

}  // namespace bp::trainer
