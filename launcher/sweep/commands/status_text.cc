#include "launcher/sweep/commands/status_text.h"

#include <algorithm>
#include <iomanip>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "launcher/report/clock_text.h"
#include "launcher/sweep/driver/wall_time.h"
#include "launcher/sweep/state/folder_lock.h"

namespace bp::launcher::sweep {
namespace {

constexpr int kShownBest = 10;
constexpr std::size_t kShownOthers = 20;

Direction direction_in(SweepReader& sweep) {
  return sweep.setting("direction") == "min" ? Direction::min : Direction::max;
}

std::string seconds_text(double seconds) {
  return elapsed_text(std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000)));
}

std::string number_text(double value) {
  std::ostringstream text;
  text << std::setprecision(6) << value;
  return text.str();
}

double running_seconds(const TrialRecord& trial) {
  return trial.seconds +
         (trial.state == TrialState::running ? wall_time() - trial.attempt_started : 0);
}

std::string line_of(const TrialRecord& trial, const std::string& what) {
  std::ostringstream line;
  line << "  " << std::setw(6) << trial.number << "  " << std::left << std::setw(12) << what << "  "
       << shown(trial.parameters) << "\n";
  return line.str();
}

std::string headline(SweepReader& sweep, const std::map<TrialState, int>& counts) {
  std::string text;
  for (const auto& [state, count] : counts) {
    if (count > 0) text += concat(text.empty() ? "" : ", ", count, " ", name_of(state));
  }
  if (const std::string all = sweep.setting("all"); !text.empty() && !all.empty()) {
    text += concat(" of ", all, all == "1" ? " trial" : " trials");
  }
  const auto holder = FolderLock::holder(sweep.folder());
  return concat(
      sweep.folder(), ": ", text.empty() ? "no trial yet" : text,
      holder ? concat("; process ", *holder, " runs it") : std::string("; it does not run"), "\n");
}

std::string section(const std::string& title,
                    const std::vector<TrialRecord>& trials,
                    std::string (*what)(const TrialRecord&)) {
  if (trials.empty()) {
    return "";
  }
  std::string text = concat(title, "\n");
  for (std::size_t i = 0; i < std::min(trials.size(), kShownOthers); ++i) {
    text += line_of(trials[i], what(trials[i]));
  }
  if (trials.size() > kShownOthers) {
    text += concat("  and ", trials.size() - kShownOthers, " more\n");
  }
  return text;
}

// A sweep that does not run has no hosts that could be lost.
std::string hosts_text(SweepReader& sweep) {
  std::string text;
  if (!FolderLock::holder(sweep.folder())) return text;
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
                        {"seconds", running_seconds(trial)},
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

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  }
  return quoted + "\"";
}

}  // namespace

std::string status_text(SweepReader& sweep) {
  const auto counts = sweep.counts();
  const std::string metric = sweep.setting("metric");
  std::string text = headline(sweep, counts);
  if (!metric.empty()) {
    const auto best = sweep.best(kShownBest, direction_in(sweep));
    text += section(concat("best ", metric, ":"), best,
                    [](const TrialRecord& it) { return number_text(*it.result); });
  }
  text += section("running:", sweep.trials(TrialState::running), [](const TrialRecord& it) {
    return concat(seconds_text(running_seconds(it)),
                  it.result ? concat(", ", number_text(*it.result)) : std::string());
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
  const auto holder = FolderLock::holder(sweep.folder());
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
  if (!metric.empty()) all["best"] = json_list(sweep.best(kShownBest, direction_in(sweep)));
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string trials_csv(SweepReader& sweep) {
  const auto trials = sweep.trials();
  std::vector<std::string> names;
  std::set<std::string> known;
  for (const TrialRecord& trial : trials) {
    for (const auto& [name, value] : trial.parameters) {
      if (known.insert(name).second) names.push_back(name);
    }
  }
  std::ostringstream csv;
  csv << "trial,state,result,step,seconds,attempts,exit_code,hosts,reason";
  for (const std::string& name : names) {
    csv << "," << csv_field(name);
  }
  csv << "\n";
  for (const TrialRecord& trial : trials) {
    csv << trial.number << "," << name_of(trial.state) << ","
        << (trial.result ? nlohmann::json(*trial.result).dump() : "") << "," << trial.result_step
        << "," << running_seconds(trial) << "," << trial.attempts << "," << trial.exit_code << ","
        << csv_field(trial.hosts) << "," << csv_field(trial.reason);
    for (const std::string& name : names) {
      const Value* const value = find_value(trial.parameters, name);
      csv << "," << (value == nullptr ? "" : csv_field(value->text()));
    }
    csv << "\n";
  }
  return csv.str();
}

}  // namespace bp::launcher::sweep
