#include "launcher/cli/bprun_options.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>

#include "base/options/help.h"
#include "base/options/option_set.h"
#include "base/options/variable_rows.h"
#include "base/quoted.h"
#include "base/refuse.h"
#include "base/text.h"
#include "bp/error.h"
#include "launcher/cli/check_build.h"
#include "launcher/cli/option_rows.h"
#include "launcher/cli/usage_error.h"
#include "launcher/protocol/hello.h"

namespace bp::launcher {
namespace {

constexpr std::string_view kFunction = R"(
  # An option's value.
  case $before in
@VALUES@  esac
  # A tool, or the program: it and what follows complete as if they stood alone.
  for ((at = 1; at < COMP_CWORD; ++at)); do
    case ${COMP_WORDS[at]} in
      --) ((++at)); break ;;
      -*) [[ $valued == *" ${COMP_WORDS[at]} "* ]] && ((++at)) ;;
      doctor | gpus) ((at > 1)) && break ;;
      *) break ;;
    esac
  done
  if ((at < COMP_CWORD)) || [[ ${COMP_WORDS[at - 1]} == -- ]]; then
    if declare -F _command_offset >/dev/null; then _command_offset "$at"; else COMPREPLY=($(compgen -f -- "$word")); fi
  elif [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  else
    COMPREPLY=($(compgen -c -- "$word") $(compgen -W 'doctor gpus sweep' -- "$word"))
  fi
}
complete -o filenames -F _bprun bprun
)";

// bprun --completion bash. Returns a script for bash that `source` reads. It completes the options
// of `set`, their values if they are words or files, and the program with its arguments as if they
// stood alone.
std::string bash_completion(const OptionSet& set) {
  constexpr std::string_view kValues = "@VALUES@";
  const BashWords words = bash_words(to_json(set)["options"]);
  std::string function(kFunction);
  function.replace(function.find(kValues), kValues.size(), words.values);
  return concat("# bash completion for bprun: source <(bprun --completion bash)\n_bprun() {\n",
                "  local at word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n",
                "  local options='", words.options, "'\n  local valued='", words.valued, " '",
                function);
}

constexpr const char* kIntroduction =
    R"(Starts a program on several ranks, here and on other hosts, and says why it failed.

Examples:
  bprun -n 4 PROGRAM ARGS...             four ranks on this machine
  bprun -H a:3,b:1 PROGRAM ARGS...       three ranks on host a, one on b (ssh)
  bprun --hostfile FILE -n 8 PROGRAM     the first eight slots of FILE's hosts
  bprun -H localhost:2,127.0.0.1:1 PROGRAM
                                         this machine as two hosts, for a try
  bprun -H a:3,b:1 --dry-run PROGRAM     what would be started
  bprun doctor -H a,b                    whether these hosts are fit for a job
  bprun gpus -H a,b                      their GPUs, and who uses them
  bprun sweep SPACE.yaml -- PROGRAM      the program with many sets of options)";

// Refuses a request without a name, and a variable that bprun sets for each rank.
void check_variables(const std::vector<std::string>& requests) {
  for (const std::string& request : requests) {
    const std::string name = request.substr(0, request.find('='));
    if (name.empty()) {
      refuse(concat("--env '", request, "' has no name; write --env NAME or --env NAME=VALUE"));
    }
    if (std::ranges::count(variables_of_ranks(), name) > 0) {
      refuse(concat("--env ", name, ": bprun sets ", name,
                    " for each rank; choose another name, or leave this out"));
    }
  }
}

// Checks the options that go with --serve and --join.
void check_joining(const Options& options) {
  if (!options.serve_port && !options.join) return;
  if (options.serve_port && options.join) refuse("give only one of --serve and --join");
  const std::string mode = options.serve_port ? "--serve" : "--join";
  if (options.host_list || options.hostfile || options.host_map || options.selection.include ||
      options.selection.exclude) {
    refuse(concat(
        mode,
        " cannot be combined with -H, --hostfile, --hosts, --include and --exclude: the hosts "
        "are those that join"));
  }
  if (options.join && options.dry_run) {
    refuse(
        "--join cannot be combined with --dry-run: only the server knows what will be started; run "
        "--dry-run there");
  }
  if (options.max_restarts > 0) {
    refuse(
        concat(mode,
               " cannot be combined with --max-restarts: after a failure the machines would have "
               "to join again"));
  }
  if (options.serve_port && (*options.serve_port < 0 || *options.serve_port > 65535)) {
    refuse(concat("--serve must be a port from 0 to 65535, not ", *options.serve_port));
  }
  if (options.serve_port && !options.ranks) {
    refuse("--serve needs -n, the number of ranks of the job");
  }
  const int least = options.serve_port ? 0 : 1;
  if (options.slots < least || options.slots > kMaxSlots) {
    refuse(concat("--slots must be from ", least, " to ", kMaxSlots, ", not ", options.slots));
  }
  if (options.first_rank && (*options.first_rank < 0 || options.slots == 0)) {
    refuse("--first-rank must be 0 or more, and needs --slots 1 or more");
  }
}

void check_restarts(const Options& options) {
  if (options.min_ranks && options.max_restarts == 0) {
    refuse(
        "--min-ranks has no effect without restarts; add --max-restarts N or remove --min-ranks");
  }
  if (options.min_ranks && options.ranks && *options.min_ranks > *options.ranks) {
    refuse(concat("--min-ranks ", *options.min_ranks, " is more than -n ", *options.ranks));
  }
}

void check_options(const OptionSet& set, const Options& options) {
  const bool any_program = options.join && options.program.empty();
  if (!any_program && (options.program.empty() || options.program.front().empty())) {
    refuse("no program is given");
  }
  if (options.output_limit > 0 && options.output.empty()) {
    refuse("--output-limit has no effect without --output; add --output DIR or remove it");
  }
  check_variables(options.environment);
  check_host_options(options);
  check_restarts(options);
  check_joining(options);
  if ((set.given("slots") || options.first_rank) && !options.join && !options.serve_port) {
    refuse("--slots and --first-rank need --serve or --join");
  }
}

// Returns bprun's own words with "--env NAME" for each "--env NAME=VALUE", also where it is spelled
// --env=NAME=VALUE or -x.
std::vector<std::string> without_values_of_env(std::vector<std::string> words) {
  bool is_value = false;
  for (std::string& word : words) {
    const bool joined = word.starts_with("--env=") || word.starts_with("-x=");
    const std::size_t name = joined ? word.find('=') + 1 : 0;
    if (is_value || joined) word.erase(std::min(word.find('=', name), word.size()));
    is_value = !is_value && (word == "--env" || word == "-x");
  }
  return words;
}

}  // namespace

int EarlyExit::print() const {
  std::fprintf(code == 0 ? stdout : stderr, "%s%s", printable(text).c_str(),
               text.ends_with('\n') ? "" : "\n");
  return code;
}

std::variant<Options, EarlyExit> parse_options(const std::vector<std::string>& arguments) {
  Options options;
  Listings listings;
  OptionSet set("bprun", kIntroduction, variables_help());
  set.usage("bprun [OPTIONS] [--] PROGRAM [ARGS...]");
  set.version(concat("bprun ", own_version(), " (build ", own_build().substr(0, 12), ")"));
  set.end_at_program();
  add_options(set, options, listings);
  try {
    if (std::string text = set.parse(arguments); !text.empty()) return EarlyExit{0, text};
    if (listings.check_build) return EarlyExit{0, check_build(options.json)};
    if (!listings.completion.empty() && listings.completion != "bash") {
      refuse(concat("--completion supports bash, not '", listings.completion, "'"));
    }
    if (!listings.completion.empty()) return EarlyExit{0, bash_completion(set)};
    options.program = set.rest();
    check_options(set, options);
  } catch (const InputError& error) {
    return usage_error(set, arguments, error);
  } catch (const Error& error) {
    return usage_error(set, arguments, error);
  }
  options.own =
      without_values_of_env({arguments.begin(), arguments.end() - std::ssize(options.program)});
  return options;
}

}  // namespace bp::launcher
