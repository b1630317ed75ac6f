#include "trainer/runs/comparison.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <vector>

#include "base/text.h"
#include "trainer/data/numbers.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {
namespace {

constexpr const char* kNone = "-";
constexpr std::size_t kLongestValue = 40;

double dev_score(const EvaluationRecord* record, const std::string& key) {
  return record == nullptr ? std::nan("") : record->result.at(key);
}

std::string last_parts(const std::string& path, std::size_t count) {
  std::filesystem::path rest = path;
  std::string name;
  for (std::size_t i = 0; i < count && !rest.filename().empty(); ++i) {
    name = concat(rest.filename().string(), name.empty() ? "" : "/", name);
    rest = rest.parent_path();
  }
  return name.empty() ? path : name;
}

// Runs of different tasks have different main scores.
bool share_main_score(const std::vector<RunRecord>& runs) {
  return std::ranges::all_of(runs, [&](const RunRecord& run) {
    return run.main_score.key == runs.front().main_score.key;
  });
}

}  // namespace

std::string score_text(double score) { return std::isfinite(score) ? fixed(score, 4) : kNone; }

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return kNone;
  return clock_text(std::chrono::seconds(std::llround(seconds)));
}

std::vector<std::string> short_names(const std::vector<RunRecord>& runs) {
  constexpr std::size_t kMostParts = 64;
  std::vector<std::string> names;
  for (std::size_t parts = 1; parts <= kMostParts; ++parts) {
    names.clear();
    for (const RunRecord& run : runs) names.push_back(last_parts(run.path, parts));
    if (std::set(names.begin(), names.end()).size() == names.size()) break;
  }
  return names;
}

std::vector<TableRow> compared_runs(const std::vector<RunRecord>& runs) {
  const bool same = share_main_score(runs);
  const std::string score = same ? runs.front().main_score.key : "score";
  std::vector<TableRow> rows = {{"run", "state", "best dev " + score, "at step", "last dev", "test",
                                 "train loss", "steps", "time", "rows/s"}};
  const std::vector<std::string> names = short_names(runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunRecord& run = runs[i];
    const std::string& key = run.main_score.key;
    const EvaluationRecord* const best = run.best_dev();
    const double rate = run.samples_per_second();
    const std::string best_score = score_text(dev_score(best, key));
    rows.push_back({names[i], name_of(run.state),
                    same || best == nullptr ? best_score : concat(key, ' ', best_score),
                    best == nullptr ? kNone : with_commas(best->step),
                    score_text(dev_score(run.last_dev(), key)), score_text(run.test(key)),
                    score_text(run.train_loss()), with_commas(run.steps()),
                    duration_text(run.train_seconds()),
                    std::isfinite(rate) ? rate_text(rate) : kNone});
  }
  return rows;
}

std::vector<TableRow> differing_settings(const std::vector<RunRecord>& runs) {
  std::vector<std::string> keys;
  for (const RunRecord& run : runs) {
    for (const Setting& setting : run.settings) {
      if (setting.key == "run" || setting.key == "resume") continue;
      if (std::ranges::find(keys, setting.key) == keys.end()) keys.push_back(setting.key);
    }
  }
  std::vector<TableRow> rows;
  for (const std::string& key : keys) {
    TableRow row = {key};
    std::set<std::string> values;
    for (const RunRecord& run : runs) {
      const std::string value = value_of(run.settings, key);
      values.insert(value);
      row.push_back(value.empty() ? kNone : shortened(repaired_utf8(value), kLongestValue));
    }
    if (values.size() > 1) rows.push_back(row);
  }
  if (rows.empty()) return {};
  TableRow head = short_names(runs);
  head.insert(head.begin(), "setting");
  rows.insert(rows.begin(), head);
  return rows;
}

std::string comparison_text(const std::vector<RunRecord>& runs, int columns) {
  const std::vector<TableRow> settings = differing_settings(runs);
  return concat(text_table(compared_runs(runs), columns), '\n',
                settings.empty() ? "all settings are the same\n" : text_table(settings, columns));
}

}  // namespace bp::trainer
