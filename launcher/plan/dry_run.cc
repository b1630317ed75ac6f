#include "launcher/plan/dry_run.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/quoted.h"
#include "base/text.h"
#include "launcher/plan/ask_hosts.h"
#include "launcher/plan/rank_environment.h"
#include "launcher/process/environment_list.h"
#include "launcher/process/shell_words.h"
#include "launcher/report/exit_code.h"

namespace bp::launcher {
namespace {

bool belongs_to_a_login(std::string_view name) {
  static constexpr std::array<std::string_view, 10> kNames{
      "PWD",        "OLDPWD",   "SHLVL", "_",        "MAIL",
      "MOTD_SHOWN", "HOSTNAME", "TMUX",  "WINDOWID", "LS_COLORS"};
  static constexpr std::array<std::string_view, 3> kPrefixes{"SSH_", "XDG_", "DBUS_"};
  return std::ranges::find(kNames, name) != kNames.end() ||
         std::ranges::any_of(kPrefixes, [name](auto prefix) { return name.starts_with(prefix); });
}

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongValue = 60;

struct DryRun {
  const JobPlan& plan;
  const Options& options;
  std::vector<HostAnswer> answers;
  std::vector<Difference> differences;
};

const char* way_to(const AgentStart& start) {
  return start.local ? "this machine" : start.srun ? "by srun" : "by ssh";
}

std::vector<std::string> variables_of(const DryRun& run, int rank) {
  const JobVariables later{.store = {"ADDRESS", run.options.store_port},
                           .master_address = "ADDRESS"};
  return rank_variables(run.plan.placement, rank, later);
}

std::string gpus_text(const Host& host) {
  if (!host.gpus) {
    return "";
  }
  std::string text = host.gpus->size() == 1 ? ", GPU " : ", GPUs ";
  for (const int gpu : *host.gpus) {
    text += concat(gpu == host.gpus->front() ? "" : ",", gpu);
  }
  return text;
}

std::string text_of_host(const DryRun& run, std::size_t i) {
  const PlacedHost& placed = run.plan.placement[i];
  const HostAnswer& answer = run.answers[i];
  const int last = placed.first_rank + placed.ranks - 1;
  const std::string found =
      answer.facts ? concat("reached as ", answer.hello->host_name, ", bprun ",
                            answer.hello->version, " (build ", answer.hello->build.substr(0, 12),
                            "), ", answer.hello->cores, " cores",
                            answer.facts->directory_problem.empty()
                                ? ""
                                : concat("; the working directory cannot be entered: ",
                                         answer.facts->directory_problem))
                   : concat("NOT REACHED: ", answer.problem);
  return concat("host ", i, ": ", placed.host.name, ", ranks ", placed.first_rank, "-", last, ", ",
                way_to(run.plan.hosts[i]), gpus_text(placed.host), "\n  ",
                quote_shell_words(run.plan.hosts[i].command), "\n  ", found, "\n");
}

// "NAME; on a,b: VALUE; on c: OTHER", or "NAME is not set on c".
std::string text_of_difference(const Difference& difference) {
  std::map<std::optional<std::string>, std::string> hosts;
  for (const auto& [host, value] : difference.values) {
    std::string& list = hosts[value];
    list += concat(list.empty() ? "" : ",", host);
  }
  std::string text = concat("  ", difference.name);
  for (const auto& [value, list] : hosts) {
    if (value) {
      text += concat("; on ", list, ": ", quote_shell_word(value->substr(0, kLongValue)),
                     value->size() > kLongValue ? "..." : "");
    } else {
      text += concat(" is not set on ", list);
    }
  }
  return text + "\n";
}

std::string text_of(const DryRun& run) {
  std::string text = concat("program: ", quote_shell_words(run.options.program), "\n");
  if (!run.plan.allocation.empty()) text += concat("allocation: ", run.plan.allocation, "\n");
  for (std::size_t i = 0; i < run.plan.hosts.size(); ++i) {
    text += text_of_host(run, i);
  }
  if (!run.differences.empty()) {
    text += "variables that differ between hosts (--env NAME passes one on):\n";
  }
  for (const Difference& difference : run.differences) {
    text += text_of_difference(difference);
  }
  for (int rank = 0; rank < world_size(run.plan.placement); ++rank) {
    text += concat("rank ", rank, ": ", quote_shell_words(variables_of(run, rank)), "\n");
  }
  return text;
}

Json json_of_host(const DryRun& run, std::size_t i) {
  const PlacedHost& placed = run.plan.placement[i];
  const HostAnswer& answer = run.answers[i];
  Json host = {{"name", placed.host.name},
               {"first_rank", placed.first_rank},
               {"ranks", placed.ranks},
               {"way", way_to(run.plan.hosts[i])},
               {"command", run.plan.hosts[i].command},
               {"reached", answer.facts.has_value()},
               {"problem", answer.problem}};
  host["gpus"] = placed.host.gpus ? Json(*placed.host.gpus) : Json();
  if (answer.hello) {
    host["version"] = answer.hello->version;
    host["build"] = answer.hello->build;
    host["cores"] = answer.hello->cores;
  }
  return host;
}

Json json_of(const Difference& difference) {
  Json values = Json::object();
  for (const auto& [host, value] : difference.values) {
    values[host] = value ? Json(*value) : Json();
  }
  return {{"name", difference.name}, {"values", std::move(values)}};
}

Json json_of(const DryRun& run) {
  Json hosts = Json::array();
  for (std::size_t i = 0; i < run.plan.hosts.size(); ++i) {
    hosts.push_back(json_of_host(run, i));
  }
  Json ranks = Json::array();
  for (int rank = 0; rank < world_size(run.plan.placement); ++rank) {
    ranks.push_back({{"rank", rank}, {"variables", variables_of(run, rank)}});
  }
  Json differences = Json::array();
  for (const Difference& difference : run.differences) {
    differences.push_back(json_of(difference));
  }
  return {{"program", run.options.program},
          {"allocation", run.plan.allocation},
          {"hosts", std::move(hosts)},
          {"environment_differences", std::move(differences)},
          {"ranks", std::move(ranks)}};
}

std::vector<Difference> find_differences(const DryRun& run) {
  std::map<std::string, std::vector<std::string>> environments;
  const auto own = own_environment();
  for (std::size_t i = 0; i < run.answers.size(); ++i) {
    if (!run.answers[i].facts) {
      continue;
    }
    const bool whole = run.plan.hosts[i].local || run.options.whole_environment;
    auto sent = sent_environment(own, {.whole = whole}, run.options.environment);
    environments[run.plan.placement[i].host.name] =
        run.plan.hosts[i].local ? std::move(sent)
                                : merged_environment(run.answers[i].facts->environment, sent);
  }
  return environment_differences(environments);
}

}  // namespace

int dry_run(const JobPlan& plan, const Options& options) {
  const Question question{
      .directory = std::filesystem::current_path().string(), .environment = true, .gpus = false};
  const AskHostsOptions asked{.question = question, .limit = options.start_timeout};
  DryRun run{plan, options, ask_hosts(plan, asked).hosts, {}};
  run.differences = find_differences(run);
  const std::string text =
      options.json ? json_of(run).dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
                   : text_of(run);
  std::fputs(printable(text).c_str(), stdout);
  const auto silent = [](const HostAnswer& answer) { return !answer.facts; };
  return std::ranges::any_of(run.answers, silent) ? kExitTemporary : 0;
}

std::vector<Difference> environment_differences(
    const std::map<std::string, std::vector<std::string>>& environments) {
  std::set<std::string> names;
  for (const auto& [host, environment] : environments) {
    for (const std::string& entry : environment) {
      if (!belongs_to_a_login(name_of_entry(entry))) names.emplace(name_of_entry(entry));
    }
  }
  std::vector<Difference> differences;
  for (const std::string& name : names) {
    Difference difference{.name = name, .values = {}};
    std::set<std::optional<std::string>> values;
    for (const auto& [host, environment] : environments) {
      const auto value = find_environment(environment, name);
      const auto copy = value ? std::optional<std::string>(*value) : std::nullopt;
      difference.values.emplace(host, copy);
      values.insert(copy);
    }
    if (values.size() > 1) differences.push_back(std::move(difference));
  }
  return differences;
}

}  // namespace bp::launcher
