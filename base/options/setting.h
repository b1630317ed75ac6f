// An option with the value that was in effect, as text: for reports, config.yaml and checkpoints.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bp {

// What a run that resumes says if an option has another value than in the checkpoint.
enum class OnResume : std::uint8_t {
  free,    // nothing
  reason,  // names it if the data are no longer the same
  told     // names it
};

struct Setting {
  std::string key = {};
  std::string value = {};
  std::string origin = {};  // "command line", "default"; may be empty
  OnResume on_resume = OnResume::free;
};

// Returns the value of the setting with this key; "" if there is none.
[[nodiscard]] std::string value_of(const std::vector<Setting>& settings, const std::string& key);

// Replaces the value and the origin of a setting, or adds it, for a value that is chosen after
// parsing.
void set(std::vector<Setting>& settings, const Setting& setting);

}  // namespace bp
