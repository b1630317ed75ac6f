#include "trainer/options/interval.h"

#include <algorithm>
#include <cstddef>
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

std::string_view without_last(std::string_view text) { return text.substr(0, text.size() - 1); }

std::optional<Interval> steps_or_epochs(std::string_view text) {
  constexpr double kFewestEpochs = 0.001;
  if (const auto steps = whole_text<std::int64_t>(text, 1)) return every_steps(*steps);
  if (!text.ends_with('e')) return std::nullopt;
  const auto epochs = whole_text<double>(without_last(text), kFewestEpochs);
  return epochs ? std::optional(Interval{.epochs = *epochs}) : std::nullopt;
}

std::optional<Interval> any_interval(const std::string& text) {
  if (const auto every = steps_or_epochs(text)) return every;
  if (text.ends_with('r')) {
    const auto rows = whole_text<std::int64_t>(without_last(text), 1);
    return rows ? std::optional(Interval{.by = IntervalBy::rows, .rows = *rows}) : std::nullopt;
  }
  const bool has_unit = !text.empty() && text.back() >= 'a';
  const auto time = parse_duration(text);
  if (!has_unit || !time || *time < std::chrono::seconds(1)) return std::nullopt;
  return Interval{.by = IntervalBy::time,
                  .time = std::chrono::duration_cast<std::chrono::seconds>(*time)};
}

}  // namespace

Interval parse_every(const std::string& option, const std::string& text) {
  if (const auto every = steps_or_epochs(text)) return *every;
  throw InputError(2, concat(option, ": '", text, "' is not a number of steps or epochs"),
                   "100 for steps, 1e or 0.5e for epochs");
}

Intervals parse_intervals(const std::string& option, const std::string& text) {
  if (text == "none") return {};
  Intervals all;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto one = any_interval(text.substr(begin, end - begin));
    if (!one) {
      throw InputError(
          2, concat(option, ": '", text, "' is not a number of steps, epochs, rows or time"),
          "100 for steps, 1e or 0.5e for epochs, 5000r for rows, 10m or 1h30m for time, several of "
          "them with commas between, or none");
    }
    all.push_back(*one);
    begin = end + 1;
  }
  return all;
}

Warmup parse_warmup(const std::string& text) {
  if (const auto share = whole_text<double>(text, 0); share && *share <= 1) {
    return {.share = *share};
  }
  if (const auto every = steps_or_epochs(text)) {
    if (every->by == IntervalBy::steps) return {.steps = every->steps};
    return {.epochs = every->epochs};
  }
  throw InputError(2,
                   concat("--warmup: '", text,
                          "' is neither a share of the steps from 0 to 1 nor a number of steps or "
                          "epochs"),
                   "0.1 for a tenth of the steps, 100 for steps, 1e or 0.5e for epochs");
}

}  // namespace bp::trainer
