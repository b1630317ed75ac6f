#include "trainer/commands/command_line.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <span>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/input_error.h"
#include "base/nearest.h"
#include "base/options/help.h"
#include "base/options/option_set.h"
#include "base/text.h"
#include "trainer/commands/parse_commands.h"
#include "trainer/commands/unknown_option.h"
#include "trainer/options/config_file.h"
#include "trainer/report/json.h"
#include "trainer/tasks/inputs.h"

namespace bp::trainer {
namespace {

// What to type, and words that stand for it here or in other programs.
struct OtherCommands {
  std::string_view typed;
  std::string_view words;
};
constexpr std::array kOtherCommands{OtherCommands{"eval RUN", "evaluate score eval"},
                                    OtherCommands{"prep DATA", "prepare preprocess prep"},
                                    OtherCommands{"DATA", "train fit resume"},
                                    OtherCommands{"--help", "help"},
                                    OtherCommands{"--version", "version"},
                                    OtherCommands{"check DATA", "check validate stats"},
                                    OtherCommands{"stop RUN", "stop"},
                                    OtherCommands{"shards TEXT", "shards"},
                                    OtherCommands{"report RUN", "report"},
                                    OtherCommands{"estimate DATA", "estimate"},
                                    OtherCommands{"scale DATA", "scale"},
                                    OtherCommands{"sweep SPACE -- DATA", "sweep"},
                                    OtherCommands{"replay FOLDER", "replay"},
                                    OtherCommands{"report RUN RUN", "compare"},
                                    OtherCommands{"runs FOLDER", "runs list"},
                                    OtherCommands{"predict RUN DATA", "predict infer inference"},
                                    OtherCommands{"export RUN", "export onnx convert"},
                                    OtherCommands{"merge RUN --out DIR", "merge"}};

// Returns the hint for a first word that is neither a file nor a command, or "" if it is not near a
// command.
std::string hint_for_command(const std::string& word) {
  std::error_code ignored;
  if (word.empty() || word.find_first_of("./-") != std::string::npos ||
      std::filesystem::exists(word, ignored)) {
    return "";
  }
  std::vector<std::string> names;
  std::map<std::string, std::string_view> typed;
  for (const OtherCommands& command : kOtherCommands) {
    std::istringstream words{std::string(command.words)};
    for (std::string name; words >> name; names.push_back(name)) typed[name] = command.typed;
  }
  const std::string nearest = nearest_name(word, names);
  return nearest.empty() ? "" : concat("did you mean 'bert_train ", typed[nearest], "'?");
}

struct Command {
  std::string_view name;      // empty: training, which has none
  std::string_view usage;     // its arguments: "RUN DATA"
  std::string_view sentence;  // what it does
  ParseCommand* parse;
};

ParseCommand parse_train_command;

std::span<const Command> commands() {
  static constexpr std::array kCommands{
      Command{"", "DATA", "train", parse_train_command},
      Command{"prep", "DATA", "prepare the store only", parse_prepare},
      Command{"check", "DATA", "say what DATA holds, and what is wrong with it", parse_check},
      Command{"estimate", "DATA", "say what a run needs, from a few steps", parse_estimate},
      Command{"scale", "DATA", "measure how training scales over hosts and ranks", parse_scale},
      Command{"sweep", "SPACE -- DATA", "train with many options, on many hosts", parse_sweep},
      Command{"eval", "RUN DATA", "score a trained model again", parse_evaluate},
      Command{"predict", "RUN DATA", "write a trained model's predictions", parse_predict},
      Command{"export", "RUN", "write a trained model for onnxruntime", parse_export},
      Command{"merge", "RUN", "make a whole model of adapters and their base", parse_merge},
      Command{"shards", "TEXT...", "make shards to pre-train on from plain text", parse_shards},
      Command{"replay", "FOLDER", "compute a step that failed again", parse_replay},
      Command{"stop", "RUN", "ask the run in RUN to save and end", parse_stop},
      Command{"report", "RUN...", "show the scores of a run, or compare runs", parse_report},
      Command{"runs", "FOLDER", "list the runs in FOLDER", parse_runs}};
  return kCommands;
}

// Returns the list for the end of --help.
std::string commands_text() {
  constexpr std::size_t kIndent = 28;
  std::string text = "Other commands (each with its own --help):\n";
  for (const Command& command : commands()) {
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

CommandLine parse_train_command(const std::vector<std::string>& arguments,
                                const Extensions& extensions) {
  return parse_train(arguments, extensions, commands_text());
}

// Help that concerns all commands: JSON of all options, completion.
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

std::string completion(const Extensions& extensions) {
  std::string branches;
  std::string names;
  std::string training;
  for (const Command& command : commands()) {
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

// Returns what to print if the arguments ask for the help of a command (`--help eval`), for JSON of
// all commands (`--help=json`) or for `--completion bash`, else "". Throws InputError (2) for
// another shell.
std::string program_help(const std::vector<std::string>& arguments, const Extensions& extensions) {
  if (const std::string shell = typed_value(arguments, "completion"); !shell.empty()) {
    if (shell == "bash") return completion(extensions);
    throw InputError(2, concat("--completion: '", shell, "' is none of bash"),
                     "source <(bert_train --completion bash)");
  }
  if (arguments.empty() || !arguments.front().starts_with('-')) return "";
  const HelpRequest request = help_in(arguments);
  if (!request.asked) return "";
  if (request.topic == "json") {
    const std::string typed = typed_value(arguments, "task");
    Json all = Json::array();
    for (const Command& command : commands()) {
      all.push_back(
          described(command, typed.empty() ? task_names(extensions).front() : typed, extensions));
    }
    return help_json("bert_train", all);
  }
  const auto same = std::ranges::find(commands(), request.topic, &Command::name);
  if (request.topic.empty() || same == commands().end()) return "";
  return same->parse({"--help"}, extensions).instead;
}

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& arguments,
                               const Extensions& extensions) {
  if (std::string text = program_help(arguments, extensions); !text.empty()) {
    return {{}, std::move(text)};
  }
  const std::string first = arguments.empty() ? "" : arguments.front();
  try {
    for (const Command& command : commands().subspan(1)) {
      if (first != command.name) continue;
      return command.parse({arguments.begin() + 1, arguments.end()}, extensions);
    }
    if (const std::string hint = hint_for_command(first); !hint.empty()) {
      throw InputError(2, concat("'", first, "' is neither a file nor a command"), hint);
    }
    return parse_train_command(arguments, extensions);
  } catch (const UnknownOption& unknown) {
    const std::string answer = answer_for_foreign(unknown.word());
    if (answer.empty()) throw;
    throw InputError(2, unknown.what(), answer);
  }
}

}  // namespace bp::trainer
