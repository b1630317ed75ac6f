#include "trainer/commands/command_line.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <span>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/nearest.h"
#include "base/options/option_set.h"
#include "base/text.h"
#include "trainer/commands/parse_commands.h"
#include "trainer/commands/program_help.h"
#include "trainer/data/input_error.h"

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

CommandLine parse_train_command(const std::vector<std::string>& arguments,
                                const Extensions& extensions);

// A command whose options do not depend on the extensions.
template <auto Parse>
CommandLine parse_alone(const std::vector<std::string>& arguments, const Extensions& /*none*/) {
  return Parse(arguments);
}

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
      Command{"shards", "TEXT...", "make shards to pre-train on from plain text",
              parse_alone<parse_shards>},
      Command{"replay", "FOLDER", "compute a step that failed again", parse_replay},
      Command{"stop", "RUN", "ask the run in RUN to save and end", parse_alone<parse_stop>},
      Command{"report", "RUN...", "show the scores of a run, or compare runs",
              parse_alone<parse_report>},
      Command{"runs", "FOLDER", "list the runs in FOLDER", parse_alone<parse_runs>}};
  return kCommands;
}

CommandLine parse_train_command(const std::vector<std::string>& arguments,
                                const Extensions& extensions) {
  return parse_train(arguments, extensions, commands_text(commands()));
}

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& arguments,
                               const Extensions& extensions) {
  if (std::string text = program_help(arguments, commands(), extensions); !text.empty()) {
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
  } catch (const UnknownOption& error) {
    constexpr std::array<std::string_view, 6> kRanks{"-n",   "--n",     "-np",
                                                     "--np", "--nproc", "--nproc-per-node"};
    if (std::ranges::count(kRanks, error.word()) == 0) throw;
    throw InputError(2, error.what(), "the number of ranks is bprun's: bprun -n 2 bert_train ...");
  }
}

}  // namespace bp::trainer
