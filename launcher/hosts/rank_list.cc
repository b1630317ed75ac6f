#include "launcher/hosts/rank_list.h"

#include <optional>
#include <set>

#include "base/number.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp::launcher {
namespace {

constexpr int kMostRanks = 1'000'000;

std::optional<int> rank_of(std::string_view text) {
  const auto rank = number_in<int>(text);
  return rank && *rank >= 0 && *rank < kMostRanks ? rank : std::nullopt;
}

}  // namespace

std::string rank_ranges(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) {
      ++end;
    }
    text += concat(text.empty() ? "" : ",", ranks[i]);
    if (end - i > 1) {
      text += concat(end - i == 2 ? "," : "-", ranks[end - 1]);
    }
    i = end;
  }
  return text;
}

std::vector<int> parse_rank_list(std::string_view text, std::string_view option) {
  std::set<int> ranks;
  for (std::string_view rest = text; ranks.empty() || !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find(','));
    const std::size_t dash = part.find('-');
    const auto first = rank_of(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : rank_of(part.substr(dash + 1));
    const bool more = part.size() < rest.size();
    rest.remove_prefix(part.size() + (more ? 1 : 0));
    if (!first || !last || *first > *last || (more && rest.empty())) {
      throw Error(ErrorCode::invalid_argument,
                  concat(option, " must be ranks such as 0,2-3, not '", text, "'"));
    }
    for (int rank = *first; rank <= *last; ++rank) {
      ranks.insert(rank);
    }
  }
  return {ranks.begin(), ranks.end()};
}

}  // namespace bp::launcher
