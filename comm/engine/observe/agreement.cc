#include "comm/engine/observe/agreement.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>
#include <vector>

#include "base/mix.h"
#include "base/text.h"

namespace bp {
namespace {

constexpr std::string_view kFinished = "nothing more, having finished";
// The key of the hashes, after prefix(): "RANK HASH" a line, or "RANK -" from a rank that has left.
constexpr std::string_view kRanks = "ranks.";

std::string shown_text(const Header& header) {
  std::string request = describe(*header.operation);
  return header.algorithm == "auto" ? request : concat(request, " by ", header.algorithm);
}

}  // namespace

Agreement::Agreement(Store& store, std::string group, std::span<const int> members)
    : store_(store), group_(std::move(group)), members_(members) {}

std::string Agreement::prefix(std::uint64_t sequence) const {
  return concat("comm/", group_, "/asked/", sequence, "/");
}

std::string Agreement::text_key(std::uint64_t sequence, std::uint64_t hash) const {
  return concat(prefix(sequence), "text/", hash, ".");  // no key is a prefix of another
}

void Agreement::show_text(int rank, std::uint64_t sequence, std::string_view text) {
  const std::uint64_t hash = mix_hash(text);
  store_.set(text_key(sequence, hash), text);
  store_.append(concat(prefix(sequence), kRanks), concat(rank, ' ', hash, '\n'));
}

void Agreement::show(int rank, const Header& header) {
  show_text(rank, header.sequence, shown_text(header));
}

void Agreement::forget(int rank, const Header& header) {
  store_.append(concat(prefix(header.sequence), kRanks), concat(rank, " -\n"));
  if (shown(header.sequence).empty()) store_.erase(prefix(header.sequence));
}

void Agreement::leave(int rank, std::uint64_t sequence) {
  show_text(rank, sequence, kFinished);
  const Shown there = shown(sequence);
  const auto left = std::ranges::count(there, mix_hash(kFinished), &Shown::value_type::second);
  if (static_cast<std::size_t>(left) == members_.size()) store_.erase(concat("comm/", group_, "/"));
}

Agreement::Shown Agreement::shown(std::uint64_t sequence) {
  Shown result;
  const auto value = store_.find(concat(prefix(sequence), kRanks));
  const char* at = value ? value->data() : nullptr;
  const char* const end = value ? at + value->size() : nullptr;
  while (at != end) {
    int rank = -1;
    std::uint64_t hash = 0;
    const auto [space, no_rank] = std::from_chars(at, end, rank);
    if (no_rank != std::errc() || space == end) break;
    const auto [line_end, no_hash] = std::from_chars(space + 1, end, hash);
    const bool has_left = no_hash != std::errc();
    if (has_left) {
      result.erase(rank);
    } else {
      result[rank] = hash;
    }
    at = std::find(line_end, end, '\n');
    if (at != end) ++at;
  }
  return result;
}

Agreement::Texts Agreement::texts(std::uint64_t sequence, const Shown& shown) {
  std::map<std::uint64_t, std::optional<std::string>> by_hash;
  Texts result;
  for (const auto& [rank, hash] : shown) {
    const auto [known, is_new] = by_hash.try_emplace(hash);
    if (is_new) known->second = store_.find(text_key(sequence, hash));
    if (known->second) result.emplace(rank, *known->second);
  }
  return result;
}

std::optional<std::string> disagreement(const Agreement::Texts& shown,
                                        std::uint64_t sequence,
                                        const std::string& group) {
  std::vector<std::pair<std::string, std::vector<int>>> requests;  // in order of their first rank
  for (const auto& [rank, text] : shown) {
    auto same = requests.begin();
    while (same != requests.end() && same->first != text) ++same;
    if (same == requests.end()) same = requests.insert(same, {text, {}});
    same->second.push_back(rank);
  }
  if (requests.size() < 2) return std::nullopt;
  std::string text = concat("ranks disagree on collective ", sequence, " of ", group, ": ");
  for (std::size_t i = 0; i < requests.size(); ++i) {
    text += concat(i == 0 ? "" : "; ", ranks_text(requests[i].second),
                   i == 0 ? " asked for " : " for ", requests[i].first);
  }
  return text + " (every rank must ask for the same collectives in the same order)";
}

}  // namespace bp
