#include "trainer/text/precompiled.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <utf8proc.h>

#include "base/refuse.h"
#include "base/utf8.h"

namespace bp::trainer {
namespace {

// The fields of a unit of the trie.
std::uint32_t label_of(std::uint32_t unit) { return unit & (1U << 31 | 0xFFU); }
std::uint32_t offset_of(std::uint32_t unit) { return (unit >> 10U) << ((unit & 1U << 9) >> 6U); }
bool has_value(std::uint32_t unit) { return (unit & 1U << 8) != 0; }
std::uint32_t value_of(std::uint32_t unit) { return unit & ~(1U << 31); }

// Returns the length of the cluster with which `text` begins.
std::size_t cluster_length(std::string_view text) {
  std::size_t end = 0;
  auto before = static_cast<utf8proc_int32_t>(next_code_point(text, end));
  utf8proc_int32_t state = 0;
  for (std::size_t at = end; at < text.size(); end = at) {
    const auto next = static_cast<utf8proc_int32_t>(next_code_point(text, at));
    if (utf8proc_grapheme_break_stateful(before, next, &state) != 0) break;
    before = next;
  }
  return end;
}

}  // namespace

Precompiled::Precompiled(const std::string& table) {
  std::uint32_t size = 0;
  if (table.size() < sizeof(size)) refuse("the table of replacements is too short");
  std::memcpy(&size, table.data(), sizeof(size));
  if (size > table.size() - sizeof(size)) refuse("the table of replacements is cut off");
  trie_.resize(size / sizeof(std::uint32_t));
  std::copy_n(table.data() + sizeof(size), trie_.size() * sizeof(std::uint32_t),
              reinterpret_cast<char*>(trie_.data()));
  replacements_ = table.substr(sizeof(size) + size);
  if (find_invalid_utf8(replacements_) != std::string_view::npos) {
    refuse("the table of replacements is not UTF-8");
  }
  for (std::size_t c = 0; c < is_kept_.size(); ++c) {
    is_kept_[c] = !replacement(std::string(1, static_cast<char>(c)));
  }
}

void Precompiled::normalize(std::string& text) const {
  const auto is_kept = [&](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < is_kept_.size() && is_kept_[byte];
  };
  std::string result;
  std::string_view rest = text;
  while (!rest.empty()) {
    auto run = static_cast<std::size_t>(std::ranges::find_if_not(rest, is_kept) - rest.begin());
    if (run == text.size()) return;
    if (run < rest.size() && run > 0) --run;  // its last one may begin a cluster
    result.append(rest.substr(0, run));
    rest.remove_prefix(run);
    if (rest.empty()) break;
    const std::size_t length = cluster_length(rest);
    append(rest.substr(0, length), result);
    rest.remove_prefix(length);
  }
  text = std::move(result);
}

void Precompiled::append(std::string_view cluster, std::string& to) const {
  constexpr std::size_t kLongest = 5;
  if (cluster.size() <= kLongest) {
    if (const auto whole = replacement(cluster)) {
      to.append(*whole);
      return;
    }
  }
  while (!cluster.empty()) {
    const std::string_view character = cluster.substr(0, character_length(cluster));
    to.append(replacement(character).value_or(character));
    cluster.remove_prefix(character.size());
  }
}

std::optional<std::string_view> Precompiled::replacement(std::string_view text) const {
  if (trie_.empty()) return std::nullopt;
  std::uint32_t node = offset_of(trie_[0]);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    node ^= byte;
    if (byte == 0 || node >= trie_.size() || label_of(trie_[node]) != byte) break;
    const std::uint32_t unit = trie_[node];
    node ^= offset_of(unit);
    if (!has_value(unit)) continue;
    return node < trie_.size() ? replacement_at(value_of(trie_[node])) : std::nullopt;
  }
  return std::nullopt;
}

// A damaged table could point into a character.
std::optional<std::string_view> Precompiled::replacement_at(std::uint32_t offset) const {
  if (offset >= replacements_.size()) return std::nullopt;
  const std::string_view found = replacements_.c_str() + offset;
  if (found.empty() || character_length(found) > 0) return found;
  return std::nullopt;
}

}  // namespace bp::trainer
