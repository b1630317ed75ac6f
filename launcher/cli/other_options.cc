#include "launcher/cli/other_options.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/nearest.h"
#include "base/text.h"

namespace bp::launcher {
namespace {

struct Spelling {
  std::string_view other;  // the option of another launcher
  std::string_view own;    // the option of bprun, or what to do
};

// Options with the same meaning. All take one value.
constexpr std::array kSameOptions{
    Spelling{"-np", "-n"},
    Spelling{"--np", "-n"},
    Spelling{"--num-proc", "-n"},
    Spelling{"--num_proc", "-n"},
    Spelling{"--n", "-n"},
    Spelling{"-host", "-H"},
    Spelling{"--host", "-H"},
    Spelling{"-hosts", "-H"},
    Spelling{"-hostfile", "--hostfile"},
    Spelling{"--host-file", "--hostfile"},
    Spelling{"-machinefile", "--hostfile"},
    Spelling{"--machinefile", "--hostfile"},
    Spelling{"-f", "--hostfile"},
    Spelling{"-x", "--env"},
    Spelling{"-iface", "--interface"},
    Spelling{"--network-interface", "--interface"},
    Spelling{"--network-interfaces", "--interface"},
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

// "nproc-per-node" of "--nproc_per_node=4".
std::string bare_name(std::string_view option) {
  option = option.substr(0, option.find('='));
  option.remove_prefix(std::min(option.find_first_not_of('-'), option.size()));
  std::string name(option);
  std::ranges::replace(name, '_', '-');
  return name;
}

// The option that a word such as --hostfile, --hostfile=a or -n4 begins.
const CLI::Option* option_of(const CLI::App& app, std::string_view word) {
  const bool is_short = !word.starts_with("--");
  const std::string name(is_short ? word.substr(0, 2) : word.substr(0, word.find('=')));
  for (const CLI::Option* option : app.get_options()) {
    if (option->check_name(name)) {
      return option;
    }
  }
  return nullptr;
}

// Whether the next word is the option's value.
bool takes_next(const CLI::Option& option, std::string_view word) {
  const bool has_it =
      word.starts_with("--") ? word.find('=') != std::string_view::npos : word.size() > 2;
  return option.get_items_expected_min() > 0 && !has_it;
}

// "-n4" for "-np=4"; unset for a word that is not in kSameOptions.
std::optional<std::string> translated(std::string_view word) {
  const std::size_t equals = word.find('=');
  for (const Spelling& same : kSameOptions) {
    if (word.substr(0, equals) != same.other) {
      continue;
    }
    const bool is_long = same.own.starts_with("--");
    return concat(same.own, equals == std::string_view::npos
                                ? ""
                                : word.substr(is_long ? equals : equals + 1));
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> with_own_options(const CLI::App& app, std::vector<std::string> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string& word = arguments[i];
    if (word.size() < 2 || word.front() != '-' || word == "--") {
      break;  // the program
    }
    if (auto own = translated(word)) {
      word = std::move(*own);
    }
    const CLI::Option* const option = option_of(app, word);
    if (option == nullptr) {
      break;  // parsing will refuse it
    }
    i += takes_next(*option, word) ? 1 : 0;
  }
  return arguments;
}

std::string advice_for(const CLI::App& app, std::string_view option) {
  const std::string wanted = bare_name(option);
  for (const Spelling& known : kOtherOptions) {
    if (wanted == known.other) {
      return concat("instead of another launcher's ", option.substr(0, option.find('=')), ": ",
                    known.own, " (docs/coming-from.md has more)");
    }
  }
  std::vector<std::string> names;
  for (const CLI::Option* of_app : app.get_options()) {
    const auto& long_names = of_app->get_lnames();
    names.insert(names.end(), long_names.begin(), long_names.end());
  }
  const std::string nearest = nearest_name(wanted, names);
  return nearest.empty() ? "" : concat("did you mean --", nearest, "?");
}

std::string advice_for_program(std::string_view program) {
  const std::string nearest =
      nearest_name(program, std::vector<std::string>(kPrograms.begin(), kPrograms.end()));
  const bool is_tool = nearest == "doctor" || nearest == "gpus" || nearest == "sweep";
  return nearest.empty() ? "" : concat("did you mean ", is_tool ? "bprun " : "", nearest, "?");
}

}  // namespace bp::launcher
