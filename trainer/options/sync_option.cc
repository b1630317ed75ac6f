#include "trainer/options/sync_option.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <sstream>

#include "base/input_error.h"
#include "base/number.h"
#include "base/options/value_text.h"
#include "base/text.h"

namespace bp::trainer {

void set_sync(Sync& sync, const std::string& text) {
  sync.every = 1;
  sync.interval = {};
  if (text == "every") return;
  if (const auto steps = number_in<std::int64_t>(text); steps && *steps >= 1) {
    sync.every = *steps;
    return;
  }
  const bool has_unit = !text.empty() && text.back() >= 'a';
  if (const auto time = parse_duration(text); has_unit && time && time->count() > 0) {
    sync.interval = *time;
    return;
  }
  throw InputError(2, concat("--sync: '", text, "' is neither `every` nor steps nor a time"),
                   "50 for a round each 50 steps, 30s for one each 30 seconds, or every");
}

OuterRule parse_outer_rule(const std::string& text) {
  static const std::map<std::string, OuterRule> kNamed = {
      {"local", kLocalSgd}, {"bmuf", kBlockMomentum}, {"diloco", kDiLoCo}};
  if (const auto named = kNamed.find(text); named != kNamed.end()) return named->second;
  OuterRule rule;
  bool is_right = !text.empty();
  std::istringstream parts(text);
  for (std::string part; is_right && std::getline(parts, part, ',');) {
    const auto number = number_in<double>(part.substr(part.find(':') + 1));
    if (part == "nesterov") {
      rule.nesterov = true;
    } else if (part.starts_with("rate:") && number && *number > 0 && *number <= 1e6) {
      rule.rate = *number;
    } else if (part.starts_with("momentum:") && number && *number >= 0 && *number <= 1) {
      rule.momentum = *number;
    } else {
      is_right = false;
    }
  }
  if (is_right && (!rule.nesterov || rule.momentum > 0)) return rule;
  throw InputError(
      2, concat("--sync-outer: '", text, "' is no rule"),
      "local, bmuf, diloco, or rate:0.7,momentum:0.9,nesterov with a rate above 0 and a "
      "momentum from 0 to 1, which nesterov needs");
}

}  // namespace bp::trainer
