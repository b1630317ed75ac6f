#include "launcher/process/environment_list.h"

#include <unistd.h>

#include <algorithm>

namespace bp::launcher {

std::vector<std::string> own_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    entries.emplace_back(*entry);
  }
  return entries;
}

std::string_view name_of_entry(std::string_view entry) { return entry.substr(0, entry.find('=')); }

std::vector<std::string> without_engine(std::vector<std::string> environment) {
  std::erase_if(environment,
                [](const std::string& entry) { return name_of_entry(entry) == "BP_ENGINE"; });
  return environment;
}

std::vector<std::string> merged_environment(std::vector<std::string> base,
                                            const std::vector<std::string>& changes) {
  for (const std::string& change : changes) {
    const auto same_name = [name = name_of_entry(change)](const std::string& entry) {
      return name_of_entry(entry) == name;
    };
    const auto found = std::find_if(base.begin(), base.end(), same_name);
    if (found == base.end()) {
      base.push_back(change);
    } else {
      *found = change;
    }
  }
  return base;
}

std::optional<std::string_view> find_environment(const std::vector<std::string>& environment,
                                                 std::string_view name) {
  for (const std::string_view entry : environment) {
    if (name_of_entry(entry) == name && entry.size() > name.size()) {
      return entry.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

}  // namespace bp::launcher
