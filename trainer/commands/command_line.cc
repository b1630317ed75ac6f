#include "trainer/commands/command_line.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"
#include "trainer/commands/model_options.h"
#include "trainer/commands/program_help.h"
#include "trainer/commands/runs_options.h"
#include "trainer/commands/shards_options.h"
#include "trainer/commands/sweep_options.h"
#include "trainer/commands/training_options.h"
#include "trainer/data/input_error.h"
#include "trainer/options/other_names.h"

namespace bp::trainer {
namespace {

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
  for (const Command& command : commands().subspan(1)) {
    if (first != command.name) continue;
    return command.parse({arguments.begin() + 1, arguments.end()}, extensions);
  }
  if (const std::string hint = hint_for_command(first); !hint.empty()) {
    throw InputError(2, concat("'", first, "' is neither a file nor a command"), hint);
  }
  return parse_train_command(arguments, extensions);
}

void set(std::vector<Setting>& settings, const Setting& setting) {
  const auto same = std::find_if(settings.begin(), settings.end(),
                                 [&](const Setting& s) { return s.key == setting.key; });
  if (same == settings.end()) {
    settings.push_back(setting);
  } else {
    *same = setting;
  }
}

}  // namespace bp::trainer
