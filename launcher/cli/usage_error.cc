#include "launcher/cli/usage_error.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/nearest.h"
#include "base/options/value_text.h"
#include "base/text.h"
#include "launcher/report/exit_code.h"

namespace bp::launcher {
namespace {

struct Spelling {
  std::string_view other;  // the option of another launcher
  std::string_view own;    // what to do instead
};

constexpr std::string_view kRanksOfHosts =
    "write the ranks of each host in -H a:4,b:4; -n N on "
    "this machine alone";
constexpr std::string_view kMachinesThatJoin =
    "bprun -H a:3,b:1 starts all by ssh; without ssh: "
    "bprun --serve PORT on one machine, bprun --join "
    "HOST:PORT on the others";
constexpr std::string_view kServerAndJoin =
    "on one machine --serve PORT -n N --slots S, where N is the sum over all machines; on each "
    "other one --join HOST:PORT --slots S";
constexpr std::string_view kAnyProgram =
    "bprun starts any program: bprun -n 2 python3 -m MODULE ARGS, or bprun -n 2 PROGRAM ARGS";
constexpr std::string_view kNotNeeded = "bprun needs no such option; leave it out";

// Options for which bprun has something else. Without dashes, and with '-' for '_'.
constexpr std::array kOtherOptions{
    Spelling{"nproc-per-node", kRanksOfHosts},
    Spelling{"npernode", kRanksOfHosts},
    Spelling{"ppn", kRanksOfHosts},
    Spelling{"perhost", kRanksOfHosts},
    Spelling{"ntasks-per-node", kRanksOfHosts},
    Spelling{"num-gpus", kRanksOfHosts},
    Spelling{"map-by", kRanksOfHosts},
    Spelling{"nprocs", "-n N on this machine; with several, --slots N"},
    Spelling{"here-gpus", kServerAndJoin},
    Spelling{"other-gpus", "--hosts MAP.json; without a map, --serve PORT and --join HOST:PORT"},
    Spelling{"start-rank", "--first-rank R"},
    Spelling{"world-size", "-n W, the ranks of all machines"},
    Spelling{"master-node", kMachinesThatJoin},
    Spelling{"no-python", kAnyProgram},
    Spelling{"module", kAnyProgram},
    Spelling{"m", kAnyProgram},
    Spelling{"distributed-world-size", "-n W, the ranks of all machines"},
    Spelling{"distributed-gpus", "--slots G"},
    Spelling{"distributed-rank", "--first-rank R"},
    Spelling{"distributed-init-method",
             "--serve PORT on one machine, --join HOST:PORT on the others"},
    Spelling{"distributed-port", "--serve PORT"},
    Spelling{"distributed-backend", "BP_BACKEND, which comm_bench --backend help lists"},
    Spelling{"distributed-no-spawn",
             "no bprun: a program that is started alone is a job of one rank"},
    Spelling{"nnodes", kMachinesThatJoin},
    Spelling{"num-nodes", kMachinesThatJoin},
    Spelling{"node-rank", kMachinesThatJoin},
    Spelling{"master-addr", kMachinesThatJoin},
    Spelling{"master-port", kMachinesThatJoin},
    Spelling{"rdzv-backend", kNotNeeded},
    Spelling{"rdzv-endpoint", kMachinesThatJoin},
    Spelling{"rdzv-id", kNotNeeded},
    Spelling{"standalone", kNotNeeded},
    Spelling{"oversubscribe", kNotNeeded},
    Spelling{"allow-run-as-root", kNotNeeded},
    Spelling{"bind-to", kNotNeeded},
    Spelling{"tag-output", kNotNeeded},
    Spelling{"prepend-rank", kNotNeeded},
    Spelling{"genv", "--env NAME=VALUE sets a variable for all ranks"},
    Spelling{"genvall", "--env-all passes the whole environment"},
    Spelling{"output-filename", "--output DIR writes the ranks' output to files"},
    Spelling{"log-dir", "--output DIR writes the ranks' output to files"},
    Spelling{"redirects", "--output DIR writes the ranks' output to files"},
    Spelling{"tee", "--output DIR writes the ranks' output to files"},
    Spelling{"timestamp-output", "--prefix time"},
    Spelling{"display-map", "--dry-run shows which rank runs where"},
    Spelling{"min-np", "--max-restarts N --min-ranks M"},
    Spelling{"ssh-port", "port=2222 in the hostfile, or --ssh 'ssh -p 2222'"},
    Spelling{"timeout", "timeout 60 bprun ... (of coreutils)"},
    Spelling{"wdir", "cd DIR && bprun ..."},
    Spelling{"timeline-filename", "--trace DIR"},
    Spelling{"verbose", "BP_LOG=debug bprun ... prints what the ranks' library does"},
};

constexpr std::array<std::string_view, 5> kPrograms{"doctor", "gpus", "sweep", "bert_train",
                                                    "comm_bench"};

// What to do instead of another launcher's option, or the nearest one of bprun.
std::string advice_for(const UnknownOption& unknown) {
  std::string name = unknown.word().substr(unknown.word().find_first_not_of('-'));
  std::ranges::replace(name, '_', '-');
  const auto* const known = std::ranges::find(kOtherOptions, name, &Spelling::other);
  if (known != kOtherOptions.end()) {
    return concat("instead of another launcher's ", unknown.word(), ": ", known->own,
                  " (docs/coming-from.md has more)");
  }
  return unknown.nearest().empty() ? "" : concat("did you mean ", unknown.nearest(), "?");
}

std::string text_of(const UnknownOption& unknown, const std::vector<std::string>& arguments) {
  std::string text;
  for (const std::string& word : arguments) {
    if (text.empty() && !word.starts_with(unknown.word())) continue;
    text += concat(text.empty() ? "" : " ", word);
  }
  return concat("there is no option ", unknown.word(), " (before the program: ", text, ")");
}

// "rank, none, horovod or time"
std::string alternatives(const std::vector<std::string>& names) {
  std::string text = names.front();
  for (std::size_t i = 1; i < names.size(); ++i) {
    text += concat(i + 1 < names.size() ? ", " : " or ", names[i]);
  }
  return text;
}

std::string range_text(const std::string& least, const std::optional<std::string>& most) {
  return most ? concat("from ", least, " to ", *most) : concat(least, " or more");
}

// "-n must be 1 or more, not 0"
std::string text_of(const WrongValue& wrong) {
  const Option& option = wrong.option();
  const auto must_be = [&](const std::string& expected, const char* quote = "") {
    return concat(option.spelled(), " must be ", expected, ", not ", quote, wrong.value(), quote);
  };
  const auto bound = [&](double number) {
    return option.type == "time"
               ? duration_text(std::chrono::milliseconds(static_cast<std::int64_t>(number * 1000)))
               : number_text(number);
  };
  if (option.type == "choice") return must_be(alternatives(option.choices), "'");
  if (option.type == "size") {
    return must_be("a size of at least 4K, such as 64K, 100M or 2G", "'");
  }
  if (option.type == "time" && !parse_duration(wrong.value())) {
    return must_be("a time such as 30s, 500ms or 2m", "'");
  }
  if (option.type == "integer" ? !number_in<std::int64_t>(wrong.value())
                               : option.type == "number" && !number_in<double>(wrong.value())) {
    return must_be(option.type == "integer" ? "a whole number" : "a number", "'");
  }
  if (!option.least) return wrong.what();
  return must_be(range_text(bound(*option.least),
                            option.most ? std::optional(bound(*option.most)) : std::nullopt));
}

}  // namespace

EarlyExit usage_error(const OptionSet& set,
                      const std::vector<std::string>& arguments,
                      const std::runtime_error& error) {
  std::string text = error.what();
  std::string advice;
  if (const auto* const unknown = dynamic_cast<const UnknownOption*>(&error)) {
    if (set.ends_at_program()) text = text_of(*unknown, arguments);
    advice = advice_for(*unknown);
  } else if (const auto* const wrong = dynamic_cast<const WrongValue*>(&error)) {
    text = text_of(*wrong);
  }
  const char* const between = advice.empty() ? "" : advice.ends_with('?') ? " " : "; ";
  const bool examples = set.about().find("Examples:") != std::string::npos;
  return {kExitUsage,
          concat(set.command(), ": ", text, "\n  hint: ", advice, between, set.command(),
                 " --help shows ", examples ? "examples and all options" : "all options")};
}

std::string advice_for_program(std::string_view program) {
  const std::string nearest =
      nearest_name(program, std::vector<std::string>(kPrograms.begin(), kPrograms.end()));
  const bool is_tool = nearest == "doctor" || nearest == "gpus" || nearest == "sweep";
  return nearest.empty() ? "" : concat("did you mean ", is_tool ? "bprun " : "", nearest, "?");
}

}  // namespace bp::launcher
