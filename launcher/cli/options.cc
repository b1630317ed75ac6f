#include "launcher/cli/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/help_text.h"
#include "base/text.h"
#include "bp/error.h"
#include "comm/topology/store_address.h"
#include "launcher/cli/check_build.h"
#include "launcher/cli/check_joining.h"
#include "launcher/cli/completion.h"
#include "launcher/cli/env_option.h"
#include "launcher/cli/host_options.h"
#include "launcher/cli/option_descriptions.h"
#include "launcher/cli/other_options.h"
#include "launcher/gpus/choice.h"
#include "launcher/hosts/rank_list.h"
#include "launcher/report/exit_code.h"

namespace bp::launcher {
namespace {

constexpr std::chrono::seconds kLeastKillSilent{1};  // ranks on a busy machine pause for less

EarlyExit usage_error(const std::string& text, const std::string& advice = "") {
  return {kExitUsage, concat("bprun: ", text, "\n  hint: ", advice,
                             advice.empty()          ? ""
                             : advice.ends_with('?') ? " "
                                                     : "; ",
                             "bprun --help shows examples and all options")};
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += concat(text.empty() ? "" : " ", word);
  }
  return text;
}

// CLI11's help does not mention the program, and shows the value of a flag in another notation.
std::string help_of(const CLI::App& app) {
  static constexpr std::pair<std::string_view, std::string_view> kReplacements[] = {
      {"bprun [OPTIONS]", "bprun [OPTIONS] [--] PROGRAM [ARGS...]"},
      {"--kill-silent{10s}  ", "--kill-silent[=TIME]"},
  };
  std::string text = app.help();
  for (const auto& [cli11, bprun] : kReplacements) {
    if (const std::size_t at = text.find(cli11); at != std::string::npos) {
      text.replace(at, cli11.size(), bprun);
    }
  }
  return wrap_help(text);
}

// The program and its arguments, from the words that follow bprun's options.
std::vector<std::string> program_of(const std::vector<std::string>& rest) {
  if (!rest.empty() && rest.front() == "--") {
    return {rest.begin() + 1, rest.end()};
  }
  if (!rest.empty() && rest.front().size() > 1 && rest.front().front() == '-') {
    throw Error(ErrorCode::invalid_argument, concat("there is no option ", rest.front(),
                                                    " (before the program: ", joined(rest), ")"));
  }
  return rest;
}

void check_restarts(const Options& options) {
  const auto refuse = [](const std::string& text) {
    throw Error(ErrorCode::invalid_argument, text);
  };
  if (options.max_restarts < 0) {
    refuse(concat("--max-restarts must be 0 or more, not ", options.max_restarts));
  }
  if (options.min_ranks && options.max_restarts == 0) {
    refuse(
        "--min-ranks has no effect without restarts; add --max-restarts N or remove --min-ranks");
  }
  if (options.min_ranks && *options.min_ranks < 1) {
    refuse(concat("--min-ranks must be 1 or more, not ", *options.min_ranks));
  }
  if (options.min_ranks && options.ranks && *options.min_ranks > *options.ranks) {
    refuse(concat("--min-ranks ", *options.min_ranks, " is more than -n ", *options.ranks));
  }
}

StoreAddress server_of(const std::string& text) {
  try {
    return parse_store_address(text);
  } catch (const Error& error) {
    throw Error(error.code(), concat("--join ", text, " ", error.what()));
  }
}

void finish_output(Options& options, const RawOptions& raw) {
  const auto style = prefix_style_of(raw.prefix);
  if (!style) {
    throw Error(ErrorCode::invalid_argument,
                concat("--prefix must be rank, none, horovod or time, not '", raw.prefix, "'"));
  }
  options.prefix = *style;
  const auto colours = colour_choice_of(raw.colours);
  if (!colours) {
    throw Error(ErrorCode::invalid_argument,
                concat("--color must be auto, always or never, not '", raw.colours, "'"));
  }
  options.colours = *colours;
  if (!raw.output_limit.empty()) {
    options.output_limit = parse_file_size(raw.output_limit, "--output-limit");
    if (options.output.empty()) {
      throw Error(ErrorCode::invalid_argument,
                  "--output-limit has no effect without --output; add --output DIR or remove it");
    }
  }
  if (!raw.shown_ranks.empty()) {
    options.shown_ranks = parse_rank_list(raw.shown_ranks, "--show-ranks");
  }
}

std::chrono::milliseconds parse_lost_after(const std::string& text) {
  const auto time = parse_duration(text, "--lost-after");
  if (time < kLeastLostAfter || time > kMostLostAfter) {
    throw Error(ErrorCode::invalid_argument,
                concat("--lost-after must be from 5s to 24h, not ", text));
  }
  return time;
}

void finish(Options& options, const RawOptions& raw, const std::vector<std::string>& rest) {
  options.program = program_of(rest);
  const bool any_program = raw.join && options.program.empty();
  if (!any_program && (options.program.empty() || options.program.front().empty())) {
    throw Error(ErrorCode::invalid_argument, "no program is given");
  }
  finish_output(options, raw);
  if (raw.on_failure != "stop" && raw.on_failure != "continue") {
    throw Error(ErrorCode::invalid_argument,
                concat("--on-failure must be stop or continue, not '", raw.on_failure, "'"));
  }
  options.survivors_continue = raw.on_failure == "continue";
  if (raw.input != "0" && raw.input != "none") {
    throw Error(ErrorCode::invalid_argument,
                concat("--stdin must be 0 (rank 0) or none, not '", raw.input, "'"));
  }
  options.forward_stdin = raw.input == "0";
  options.grace = parse_duration(raw.grace, "--grace");
  if (!raw.kill_silent.empty()) {
    options.kill_silent = parse_duration(raw.kill_silent, "--kill-silent");
    if (*options.kill_silent < kLeastKillSilent) {
      throw Error(ErrorCode::invalid_argument,
                  concat("--kill-silent must be 1s or more, not ", raw.kill_silent));
    }
  }
  if (!raw.lost_after.empty()) {
    options.lost_after = parse_lost_after(raw.lost_after);
  }
  check_variables(options.environment);
  check_host_options(options);
  if (!options.gpus.empty()) {
    static_cast<void>(parse_gpu_request(options.gpus));
  }
  if (options.store_port < 0 || options.store_port > 65535) {
    throw Error(ErrorCode::invalid_argument,
                concat("--store-port must be from 0 to 65535, not ", options.store_port));
  }
  if (options.ranks && *options.ranks < 1) {
    throw Error(ErrorCode::invalid_argument, concat("-n must be 1 or more, not ", *options.ranks));
  }
  check_restarts(options);
  options.slots = raw.slots.value_or(1);
  if (raw.join) {
    options.join = server_of(*raw.join);
  }
  check_joining(options);
  if ((raw.slots || options.first_rank) && !options.join && !options.serve_port) {
    throw Error(ErrorCode::invalid_argument, "--slots and --first-rank need --serve or --join");
  }
}

}  // namespace

std::chrono::milliseconds parse_duration(const std::string& text, const std::string& option) {
  struct Unit {
    std::string_view name;
    double milliseconds;
  };
  static constexpr std::array kUnits{Unit{"", 1000}, Unit{"ms", 1}, Unit{"s", 1000},
                                     Unit{"m", 60'000}, Unit{"h", 3'600'000}};
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const std::string_view unit_name(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const auto* unit = std::find_if(kUnits.begin(), kUnits.end(),
                                  [&](const Unit& u) { return u.name == unit_name; });
  const double total = unit == kUnits.end() ? -1 : number * unit->milliseconds;
  if (error != std::errc{} || !(total >= 0 && total < 1e12)) {
    throw Error(ErrorCode::invalid_argument,
                concat(option, " must be a time such as 30s, 500ms or 2m, not '", text, "'"));
  }
  return std::chrono::milliseconds(static_cast<std::int64_t>(total));
}

std::uint64_t parse_file_size(const std::string& text, const std::string& option) {
  constexpr std::uint64_t kLeast = 4096;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 50;
  static constexpr std::string_view kUnits = "KMG";
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const std::size_t unit = end - stop == 1 ? kUnits.find(*stop) : std::string_view::npos;
  const bool known = error == std::errc{} && (stop == end || unit != std::string_view::npos);
  const std::size_t shift = stop == end ? 0 : 10 * (unit + 1);
  const std::uint64_t size = known && number <= kMost >> shift ? number << shift : 0;
  if (size < kLeast) {
    throw Error(ErrorCode::invalid_argument,
                concat(option, " must be a size of at least 4K, such as 64K, 100M or 2G, not '",
                       text, "'"));
  }
  return size;
}

std::variant<Options, EarlyExit> parse_options(const std::vector<std::string>& arguments) {
  Options options;
  RawOptions raw;
  CLI::App app("", "bprun");
  describe_options(app, options, raw);
  try {
    auto words = with_own_options(app, arguments);
    std::ranges::reverse(words);  // CLI11 takes the last word first
    app.parse(std::move(words));
    if (raw.check_build) {
      return EarlyExit{0, check_build(options.json)};
    }
    if (!raw.completion.empty()) {
      return raw.completion == "bash"
                 ? EarlyExit{0, bash_completion(app)}
                 : usage_error(concat("--completion supports bash, not '", raw.completion, "'"));
    }
    finish(options, raw, app.remaining(false));
    options.own =
        without_values_of_env({arguments.begin(), arguments.end() - std::ssize(options.program)});
    return options;
  } catch (const CLI::CallForHelp&) {
    return EarlyExit{0, help_of(app)};
  } catch (const CLI::CallForVersion& version) {
    return EarlyExit{0, concat(version.what(), "\n")};
  } catch (const CLI::ParseError& error) {
    return usage_error(error.what());
  } catch (const Error& error) {
    const auto rest = app.remaining(false);
    const bool unknown = !rest.empty() && rest.front().size() > 1 && rest.front().front() == '-' &&
                         rest.front() != "--";
    return usage_error(error.what(), unknown ? advice_for(app, rest.front()) : "");
  }
}

}  // namespace bp::launcher
