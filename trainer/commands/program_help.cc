#include "trainer/commands/program_help.h"

#include <algorithm>

#include "base/options/help.h"
#include "base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/options/config_file.h"
#include "trainer/report/json.h"
#include "trainer/tasks/inputs.h"

namespace bp::trainer {
namespace {

constexpr std::string_view kScript =
    R"(# bash completion for bert_train: source <(bert_train --completion bash)
_bert_train() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} options
  # bash makes words of --batch=3: the option, = and the value.
  [[ $word == = ]] && word=
  [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD - 2]}
  case $command in
@COMMANDS@  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
    ((COMP_CWORD == 1)) && COMPREPLY+=($(compgen -W '@NAMES@' -- "$word"))
  fi
}
complete -o filenames -F _bert_train bert_train
)";

void replace_first(std::string& text, std::string_view what, std::string_view with) {
  text.replace(text.find(what), what.size(), with);
}

// Returns the branch of `case` for a command: its options and what their values may be.
std::string branch_of(const Command& command, const Json& all) {
  const auto [options, valued, values] = bash_words(all);
  return concat("    ", command.name.empty() ? "*" : command.name, ")\n      options='", options,
                "'\n",
                values.empty() ? "" : concat("      case $before in\n", values, "      esac\n"),
                "      ;;\n");
}

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
  std::string branches;
  std::string names;
  std::string training;
  for (const Command& command : commands) {
    const std::vector<std::string> tasks = task_names(extensions);
    Json one = described(command, tasks.front(), extensions);
    for (const std::string& task : tasks) {
      add_options(one["options"], described(command, task, extensions).at("options"));
    }
    (command.name.empty() ? training : branches) += branch_of(command, one["options"]);
    if (!command.name.empty()) names += concat(names.empty() ? "" : " ", command.name);
  }
  std::string script(kScript);
  replace_first(script, "@COMMANDS@", branches + training);  // `*` comes last
  replace_first(script, "@NAMES@", names);
  return script;
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
    return help_json("bert_train", all);
  }
  const auto same = std::ranges::find(commands, request.topic, &Command::name);
  if (request.topic.empty() || same == commands.end()) return "";
  return same->parse({"--help"}, extensions).instead;
}

}  // namespace bp::trainer
