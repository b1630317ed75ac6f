#include "comm/engine/agreement.h"

#include <utility>

#include "base/text.h"

namespace bp {
namespace {

std::string shown_text(const Header& header) {
  std::string request = describe(*header.operation);
  return header.algorithm == "auto" ? request : concat(request, " by ", header.algorithm);
}

}  // namespace

Agreement::Agreement(Store& store, std::string group, std::span<const int> members)
    : store_(store), group_(std::move(group)), members_(members) {}

std::string Agreement::key(std::uint64_t sequence, int rank) const {
  return concat("comm/", group_, "/asked/", sequence, "/", rank,
                ".");  // no key is a prefix of another
}

void Agreement::show(int rank, const Header& header) {
  store_.set(key(header.sequence, rank), shown_text(header));
}

void Agreement::forget(int rank, const Header& header) { store_.erase(key(header.sequence, rank)); }

void Agreement::leave(int rank, std::uint64_t sequence) {
  store_.set(key(sequence, rank), "nothing more, having finished");
}

Agreement::Shown Agreement::shown(std::uint64_t sequence) {
  Shown result;
  for (int rank = 0; rank < static_cast<int>(members_.size()); ++rank) {
    if (auto text = store_.find(key(sequence, rank))) result.emplace(rank, std::move(*text));
  }
  return result;
}

std::optional<std::string> disagreement(const Agreement::Shown& shown,
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
