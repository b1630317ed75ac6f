#include "launcher/sweep/trial/seen_metrics.h"

#include <algorithm>
#include <fstream>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "launcher/sweep/trial/metric_line.h"

namespace bp::launcher::sweep {
namespace {

constexpr int kMostLines = 10'000;  // a run of bert_train evaluates earlier, or not at all
constexpr std::size_t kLongestShown = 80;
constexpr std::string_view kPrefix = "[0] ";  // bprun's, of the first rank

// Calls `take` with each of the first lines until it returns false.
template <class Take>
void each_line(const std::string& path, Take take) {
  std::ifstream file(path);
  std::string line;
  for (int i = 0; i < kMostLines && std::getline(file, line); ++i) {
    if (!take(line)) return;
  }
}

}  // namespace

std::vector<std::string> names_in_metrics(const std::string& path) {
  std::vector<std::string> names;
  const auto add = [&](std::string name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  };
  each_line(path, [&](const std::string& line) {
    const auto object = nlohmann::json::parse(line, nullptr, false);
    if (!object.is_object()) return true;
    const std::string split = object.value("split", "train");
    for (const auto& [key, value] : object.items()) {
      const bool trains = split == "train";
      if (!value.is_number() || key == "step" || key == "epoch") continue;
      if (!trains || key == "loss") add(concat(split, "_", key));
    }
    return true;
  });
  return names;
}

std::optional<std::string> refused_report(const std::string& path) {
  std::optional<std::string> refused;
  each_line(path, [&](const std::string& line) {
    std::string_view text = line;
    if (text.starts_with(kPrefix)) text.remove_prefix(kPrefix.size());
    const bool looks_like_one =
        text.find("bp:") != std::string_view::npos && text.find("metric") != std::string_view::npos;
    if (looks_like_one && !parse_metric_line(line, 1)) refused = text.substr(0, kLongestShown);
    return !refused;
  });
  return refused;
}

}  // namespace bp::launcher::sweep
