#include "launcher/plan/environment_differences.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "launcher/process/environment_list.h"

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

}  // namespace

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
