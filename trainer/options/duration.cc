#include "trainer/options/duration.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <system_error>

namespace bp::trainer {
namespace {

struct DurationUnit {
  char name;
  std::int64_t seconds;
};
constexpr DurationUnit kDurationUnits[] = {{'d', 86'400}, {'h', 3600}, {'m', 60}, {'s', 1}};

}  // namespace

std::optional<std::chrono::seconds> parse_duration(std::string_view text) {
  constexpr std::int64_t kMost = 1000 * 86'400;
  std::int64_t total = 0;
  const DurationUnit* next = std::begin(kDurationUnits);
  while (!text.empty()) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (error != std::errc() || number < 0 || number > kMost || text.empty()) return std::nullopt;
    while (next != std::end(kDurationUnits) && next->name != text.front()) ++next;
    if (next == std::end(kDurationUnits)) return std::nullopt;
    total += number * next->seconds;
    if (total > kMost) return std::nullopt;
    ++next;
    text.remove_prefix(1);
  }
  if (total == 0) return std::nullopt;
  return std::chrono::seconds(total);
}

}  // namespace bp::trainer
