#include "trainer/options/save_every.h"

#include <optional>
#include <string_view>

#include "base/input_error.h"
#include "base/options/value_text.h"
#include "base/text.h"

namespace bp::trainer {
namespace {

// Returns nothing unless all of the text is a number from `least` on.
template <class Number>
std::optional<Number> whole_text(std::string_view text, Number least) {
  const auto number = number_in<Number>(text);
  constexpr auto kMost = Number(1e15);
  return number && *number >= least && *number <= kMost ? number : std::nullopt;
}

std::optional<SaveEvery> steps_or_epochs(std::string_view text) {
  constexpr double kFewestEpochs = 0.001;
  if (const auto steps = whole_text<std::int64_t>(text, 1)) return every_steps(*steps);
  if (!text.ends_with('e')) return std::nullopt;
  const auto epochs = whole_text<double>(text.substr(0, text.size() - 1), kFewestEpochs);
  return epochs ? std::optional(SaveEvery{.epochs = *epochs}) : std::nullopt;
}

}  // namespace

SaveEvery parse_every(const std::string& option, const std::string& text) {
  if (const auto every = steps_or_epochs(text)) return *every;
  throw InputError(2, concat(option, ": '", text, "' is not a number of steps or epochs"),
                   "100 for steps, 1e or 0.5e for epochs");
}

Warmup parse_warmup(const std::string& text) {
  if (const auto share = whole_text<double>(text, 0); share && *share <= 1) {
    return {.share = *share};
  }
  const auto epochs = steps_or_epochs(text);
  if (epochs && epochs->by == SaveBy::epochs) return {.epochs = epochs->epochs};
  throw InputError(2,
                   concat("--warmup: '", text,
                          "' is neither a share of the steps from 0 to 1 nor a number of epochs"),
                   "0.1 for a tenth of the steps, 1e or 0.5e for epochs");
}

SaveEvery parse_save_every(const std::string& text) {
  if (text == "none") return {.by = SaveBy::never};
  if (const auto every = steps_or_epochs(text)) return *every;
  const bool has_unit = !text.empty() && text.back() >= 'a';
  if (const auto time = parse_duration(text);
      has_unit && time && *time >= std::chrono::seconds(1)) {
    return {.by = SaveBy::time, .time = std::chrono::duration_cast<std::chrono::seconds>(*time)};
  }
  throw InputError(2, concat("--save-every: '", text, "' is not a number of steps, epochs or time"),
                   "100 for steps, 1e or 0.5e for epochs, 10m or 1h30m for time, or none");
}

}  // namespace bp::trainer
