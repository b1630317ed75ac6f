#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>

#include <nlohmann/json.hpp>

#include "base/number.h"
#include "base/options/option_set.h"
#include "base/quoted.h"
#include "base/refuse.h"
#include "base/text.h"
#include "bp/error.h"
#include "launcher/cli/usage_error.h"
#include "launcher/report/exit_code.h"
#include "launcher/sweep/commands/status_text.h"
#include "launcher/sweep/commands/sweep_commands.h"
#include "launcher/sweep/commands/write_report.h"
#include "launcher/sweep/driver/trial_run.h"
#include "launcher/sweep/state/sweep_state.h"

namespace bp::launcher::sweep {
namespace {

struct SubcommandOptions {
  std::string folder;
  std::vector<std::string> words;  // the numbers of trials, as typed
  std::vector<int> trials;
  std::string out;
  bool json = false;
  bool csv = false;
};

struct Subcommand {
  const char* name;
  const char* about;
  enum class Takes { status, best, file, trials, more_trials } takes;
  int (*run)(const SubcommandOptions& options);
};

void print_out(const std::string& text) { std::fputs(text.c_str(), stdout); }

int show_status(const SubcommandOptions& options) {
  SweepReader sweep(options.folder);
  print_out(options.csv    ? trials_csv(sweep)
            : options.json ? status_json(sweep)
                           : printable(status_text(sweep)));
  return 0;
}

int show_best(const SubcommandOptions& options) {
  SweepReader sweep(options.folder);
  const auto best = sweep.best(1, sweep.direction());
  if (best.empty()) {
    throw Error(ErrorCode::invalid_argument,
                concat("no trial of ", sweep.folder(), " has reported a value yet"));
  }
  const TrialRecord& trial = best.front();
  const std::string folder = trial_folder(sweep.folder(), trial.number);
  if (options.json) {
    auto parameters = nlohmann::json::object();
    for (const auto& [name, value] : trial.parameters) {
      parameters[name] = value.text();
    }
    const nlohmann::json all{{"trial", trial.number},
                             {"result", *trial.result},
                             {"step", trial.result_step},
                             {"parameters", parameters},
                             {"folder", folder}};
    print_out(all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    return 0;
  }
  print_out(printable(concat("trial ", trial.number, ": ", sweep.setting("metric"), " ",
                             *trial.result, " at step ", trial.result_step, "\n  ",
                             shown(trial.parameters), "\n  ", folder, "\n")));
  return 0;
}

int report_sweep(const SubcommandOptions& options) {
  SweepReader sweep(options.folder);
  print_out(write_report(sweep, options.out) + "\n");
  return 0;
}

// Refuses trials that do not exist and those whose state makes the request senseless.
void check_trials(SweepReader& sweep,
                  const std::vector<int>& numbers,
                  bool (*fits)(TrialState state),
                  const std::string& advice) {
  for (const int number : numbers) {
    const auto trial = sweep.trial(number);
    if (!trial) {
      throw Error(ErrorCode::invalid_argument,
                  concat("there is no trial ", number, " in ", sweep.folder()));
    }
    if (!fits(trial->state)) {
      throw Error(ErrorCode::invalid_argument,
                  concat("trial ", number, " is ", name_of(trial->state), "; ", advice));
    }
  }
}

void post(const std::string& folder, const std::string& what, const std::vector<int>& numbers) {
  for (const int number : numbers) {
    post_request(folder, {what, number});
  }
}

// Asks the process that runs the sweep, which asks its trials to save and end.
int stop_sweep(const SubcommandOptions& options) {
  SweepReader sweep(options.folder);
  if (!options.trials.empty()) {
    check_trials(
        sweep, options.trials,
        [](TrialState it) {
          return it == TrialState::waiting || it == TrialState::running || it == TrialState::paused;
        },
        "only a trial that has not ended can be stopped");
    post(sweep.folder(), "stop", options.trials);
    return 0;
  }
  const auto holder = sweep_process(sweep.folder());
  if (!holder || *holder <= 0 || ::kill(*holder, SIGTERM) != 0) {
    throw Error(ErrorCode::invalid_argument,
                concat("no process of this machine runs the sweep in ", sweep.folder()));
  }
  print_out(concat("asked process ", *holder, " to stop; the same command continues the sweep\n"));
  return 0;
}

int retry_trials(const SubcommandOptions& options) {
  SweepReader sweep(options.folder);
  check_trials(sweep, options.trials, may_be_retried,
               "only a trial that failed, was stopped or was skipped can be retried");
  post(sweep.folder(), "retry", options.trials);
  if (!sweep_process(sweep.folder())) {
    print_out("the command that started the sweep runs them\n");
  }
  return 0;
}

using Takes = Subcommand::Takes;
constexpr Subcommand kSubcommands[] = {
    {"status", "Shows how far a sweep is, also while it runs.", Takes::status, &show_status},
    {"best", "Shows the best trial.", Takes::best, &show_best},
    {"report", "Writes a page with a table and charts of all trials.", Takes::file, &report_sweep},
    {"stop",
     "Ends a sweep, which the same command continues, or stops some of its trials for good.",
     Takes::trials, &stop_sweep},
    {"retry", "Runs trials again that failed or were stopped.", Takes::more_trials, &retry_trials},
};

void describe(OptionSet& set, const Subcommand& command, SubcommandOptions& options) {
  set.path({"SWEEP", "the sweep's folder, or its sweep.sqlite"}, options.folder);
  if (command.takes == Takes::status) {
    set.flag({"csv", "print every trial as a line of CSV"}, options.csv);
    set.flag({"json", "the same as one JSON object"}, options.json);
  } else if (command.takes == Takes::best) {
    set.flag({"json", "the same as one JSON object"}, options.json);
  } else if (command.takes == Takes::file) {
    set.path({"out", "write FILE", "sweep.html in the sweep's folder", "FILE"}, options.out);
  } else if (command.takes == Takes::trials) {
    set.texts({"TRIAL", "trials to stop (default: the sweep)"}, options.words);
  } else {
    set.texts({"TRIAL", "trials to run again"}, options.words).required = true;
  }
}

void read_trials(SubcommandOptions& options) {
  if (options.csv && options.json) refuse("--csv excludes --json");
  for (const std::string& word : options.words) {
    const auto number = number_in<int>(word);
    if (!number) refuse(concat("TRIAL must be the number of a trial, not '", word, "'"));
    options.trials.push_back(*number);
  }
}

}  // namespace

std::optional<int> run_subcommand(const std::vector<std::string>& arguments) {
  const auto* const command = std::ranges::find_if(kSubcommands, [&](const Subcommand& it) {
    return !arguments.empty() && arguments[0] == it.name;
  });
  if (command == std::end(kSubcommands)) {
    return std::nullopt;
  }
  SubcommandOptions options;
  OptionSet set(concat("bprun sweep ", command->name), command->about);
  describe(set, *command, options);
  const std::vector<std::string> words(arguments.begin() + 1, arguments.end());
  try {
    if (const std::string text = set.parse(words); !text.empty()) {
      print_out(text);
      return 0;
    }
    read_trials(options);
  } catch (const InputError& error) {
    return usage_error(set, words, error).print();
  } catch (const Error& error) {
    return usage_error(set, words, error).print();
  }
  if (std::error_code error; !std::filesystem::exists(options.folder, error)) {
    std::fprintf(stderr, "bprun sweep %s: there is no %s; name a folder that bprun sweep made\n",
                 command->name, printable(options.folder).c_str());
    return kExitNoInput;
  }
  return command->run(options);
}

}  // namespace bp::launcher::sweep
