#include "launcher/sweep/commands/status_text.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/report/escape.h"
#include "base/report/report_table.h"
#include "base/text.h"
#include "launcher/report/clock_text.h"
#include "launcher/sweep/report/sweep_page.h"

namespace bp::launcher::sweep {
namespace {

constexpr int kShownBest = 10;
constexpr std::size_t kShownOthers = 20;

std::string headline(SweepReader& sweep, const std::map<TrialState, int>& counts) {
  std::string text;
  for (const auto& [state, count] : counts) {
    if (count > 0) text += concat(text.empty() ? "" : ", ", count, " ", name_of(state));
  }
  if (const std::string all = sweep.setting("all"); !text.empty() && !all.empty()) {
    text += concat(" of ", all, all == "1" ? " trial" : " trials");
  }
  const auto holder = sweep_process(sweep.folder());
  return concat(
      sweep.folder(), ": ", text.empty() ? "no trial yet" : text,
      holder ? concat("; process ", *holder, " runs it") : std::string("; it does not run"), "\n");
}

std::string section(const std::string& title,
                    const std::vector<TrialRecord>& trials,
                    std::string (*what)(const TrialRecord&)) {
  if (trials.empty()) return "";
  Table table{.columns = {{}, {.width = 6}, {.left = true, .width = 12}, {.left = true}}};
  for (std::size_t i = 0; i < std::min(trials.size(), kShownOthers); ++i) {
    const TrialRecord& trial = trials[i];
    table.add({"", std::to_string(trial.number), what(trial), shown(trial.parameters)});
  }
  const std::size_t more = trials.size() - table.rows.size();
  return concat(title, "\n", terminal_text(table),
                more > 0 ? concat("  and ", more, " more\n") : std::string());
}

// A sweep that does not run has no hosts that could be lost.
std::string hosts_text(SweepReader& sweep) {
  std::string text;
  if (!sweep_process(sweep.folder())) return text;
  for (const HostRecord& host : sweep.hosts()) {
    if (!host.present) text += concat("host ", host.name, " is lost: ", host.reason, "\n");
  }
  return text;
}

nlohmann::json json_of(const TrialRecord& trial) {
  auto parameters = nlohmann::json::object();
  for (const auto& [name, value] : trial.parameters) {
    if (value.is_number()) {
      parameters[name] = value.number();
    } else if (value.kind() == Value::Kind::boolean) {
      parameters[name] = value.number() != 0;
    } else {
      parameters[name] = value.text();
    }
  }
  nlohmann::json object{{"trial", trial.number},
                        {"state", name_of(trial.state)},
                        {"parameters", parameters},
                        {"repeat", trial.repeat},
                        {"attempts", trial.attempts},
                        {"hosts", trial.hosts},
                        {"seconds", seconds_until_now(trial)},
                        {"result", nullptr},
                        {"step", trial.result_step},
                        {"last_step", trial.step}};
  if (trial.result) object["result"] = *trial.result;
  if (trial.state == TrialState::failed) object["exit_code"] = trial.exit_code;
  if (!trial.reason.empty()) object["reason"] = trial.reason;
  return object;
}

nlohmann::json json_list(const std::vector<TrialRecord>& trials) {
  auto list = nlohmann::json::array();
  for (const TrialRecord& trial : trials) {
    list.push_back(json_of(trial));
  }
  return list;
}

}  // namespace

std::string status_text(SweepReader& sweep) {
  const auto counts = sweep.counts();
  const std::string metric = sweep.setting("metric");
  std::string text = headline(sweep, counts);
  if (!metric.empty()) {
    const auto best = sweep.best(kShownBest, sweep.direction());
    text += section(concat("best ", metric, ":"), best,
                    [](const TrialRecord& it) { return brief(*it.result, 6); });
  }
  text += section("running:", sweep.trials(TrialState::running), [](const TrialRecord& it) {
    return concat(elapsed_text(seconds_until_now(it)),
                  it.result ? concat(", ", brief(*it.result, 6)) : std::string());
  });
  text += section("failed:", sweep.trials(TrialState::failed),
                  [](const TrialRecord& it) { return concat("code ", it.exit_code); });
  return text + hosts_text(sweep);
}

std::string status_json(SweepReader& sweep) {
  auto counts = nlohmann::json::object();
  for (const auto& [state, count] : sweep.counts()) {
    counts[std::string(name_of(state))] = count;
  }
  auto hosts = nlohmann::json::array();
  for (const HostRecord& host : sweep.hosts()) {
    hosts.push_back({{"host", host.name},
                     {"slots", host.slots},
                     {"present", host.present},
                     {"reason", host.reason}});
  }
  const auto holder = sweep_process(sweep.folder());
  const std::string metric = sweep.setting("metric");
  nlohmann::json all{{"folder", sweep.folder()},
                     {"metric", metric},
                     {"direction", sweep.setting("direction")},
                     {"process", nullptr},
                     {"counts", counts},
                     {"hosts", hosts},
                     {"best", nlohmann::json::array()},
                     {"running", json_list(sweep.trials(TrialState::running))},
                     {"failed", json_list(sweep.trials(TrialState::failed))}};
  if (holder) all["process"] = *holder;
  if (!metric.empty()) all["best"] = json_list(sweep.best(kShownBest, sweep.direction()));
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string trials_csv(SweepReader& sweep) {
  const auto trials = sweep.trials();
  const auto names = parameter_names(trials);
  Table table = table_of(
      {"trial", "state", "result", "step", "seconds", "attempts", "exit_code", "hosts", "reason"});
  for (const std::string& name : names) table.columns.push_back({name});
  for (const TrialRecord& trial : trials) {
    std::vector<std::string> row{std::to_string(trial.number),
                                 std::string(name_of(trial.state)),
                                 trial.result ? nlohmann::json(*trial.result).dump() : "",
                                 std::to_string(trial.result_step),
                                 concat(seconds_until_now(trial)),
                                 std::to_string(trial.attempts),
                                 std::to_string(trial.exit_code),
                                 trial.hosts,
                                 trial.reason};
    for (const std::string& name : names) {
      const Value* const value = find_value(trial.parameters, name);
      row.push_back(value == nullptr ? "" : value->text());
    }
    table.add(std::move(row));
  }
  return csv_text(table);
}

}  // namespace bp::launcher::sweep
