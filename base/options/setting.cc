#include "base/options/setting.h"

#include <algorithm>

namespace bp {

std::string value_of(const std::vector<Setting>& settings, const std::string& key) {
  const auto same = std::ranges::find(settings, key, &Setting::key);
  return same == settings.end() ? "" : same->value;
}

void set(std::vector<Setting>& settings, const Setting& setting) {
  const auto same = std::ranges::find(settings, setting.key, &Setting::key);
  if (same == settings.end()) {
    settings.push_back(setting);
  } else {
    same->value = setting.value;
    same->origin = setting.origin;
  }
}

}  // namespace bp
