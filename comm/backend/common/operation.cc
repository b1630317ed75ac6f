#include "comm/backend/common/operation.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "base/mix.h"
#include "base/text.h"

namespace bp {
namespace {

struct Row {
  std::string_view name;
  bool computes = false;
};

const Row& row_of(Operation::Kind kind) {
  static constexpr Row kUnknown{"unknown collective"};
  static constexpr std::array<Row, 14> kRows = {{
      // in the order of Kind
      {"all_reduce", true},
      {"broadcast"},
      {"reduce_scatter", true},
      {"all_gather"},
      {"barrier"},
      {"reduce", true},
      {"gather"},
      {"scatter"},
      {"all_to_all"},
      {"all_to_all_v"},
      {"message"},
      {"all_reduce_grouped", true},
      {"all_reduce_int8", true},
      {"join"},
  }};
  static_assert(kRows.size() == static_cast<std::size_t>(Operation::Kind::join) + 1);
  const auto index = static_cast<std::size_t>(kind);
  return index < kRows.size() ? kRows[index] : kUnknown;
}

std::string counts_text(const std::vector<std::size_t>& counts) {
  const bool equal = std::adjacent_find(counts.begin(), counts.end(),
                                        [](auto a, auto b) { return a != b; }) == counts.end();
  if (counts.empty() || equal) return concat(counts.empty() ? 0 : counts.front());
  constexpr std::size_t kShown = 8;
  std::string text;
  MixHash all;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    if (r < kShown) text += concat(r == 0 ? "" : "+", counts[r]);
    all.add(counts[r]);
  }
  return counts.size() <= kShown ? text : concat(text, "+... (layout ", all.value(), ")");
}

// True if the counts are those of block_of().
bool is_even(const std::vector<std::size_t>& counts) {
  return counts.empty() ||
         (std::ranges::is_sorted(counts, std::greater()) && counts.front() - counts.back() <= 1);
}

// "10 f32 + 2 i64"
std::string group_text(const std::vector<View>& group) {
  constexpr std::size_t kShown = 8;
  std::string text;
  MixHash all;
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (i < kShown) {
      text += concat(i == 0 ? "" : " + ", group[i].count, " ", name_of(group[i].type));
    }
    all.add(group[i].count);
    all.add(static_cast<std::uint64_t>(group[i].type));
  }
  return group.size() <= kShown
             ? text
             : concat(text, " + ... (", group.size(), " tensors, layout ", all.value(), ")");
}

std::string source_text(int source) { return source < 0 ? "any rank" : concat("rank ", source); }

std::string tag_text(int tag) {
  if (tag == 0) return "";
  return tag < 0 ? " with any tag" : concat(" with tag ", tag);
}

}  // namespace

std::string_view name_of(Operation::Kind kind) { return row_of(kind).name; }

bool Operation::computes() const { return row_of(kind).computes; }

std::size_t Operation::bytes() const {
  std::size_t total = std::max(input.bytes(), output.bytes());
  for (const View& tensor : group) total += tensor.bytes();
  return total;
}

ConstView Operation::whole() const {
  const auto total = [this] {
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  };
  switch (kind) {
    case Kind::reduce_scatter:
    case Kind::all_to_all:
      return input;
    case Kind::gather:
      return {nullptr, total(), input.type};
    case Kind::scatter:
      return {nullptr, total(), output.type};
    case Kind::all_to_all_v:  // each rank has counts of its own
      return {nullptr, 0, input.type};
    case Kind::message:
      return {nullptr, std::max(input.count, output.count), input.type};
    default:
      return output;
  }
}

std::string describe(const Operation& operation) {
  std::string text(name_of(operation.kind));
  const ConstView whole = operation.whole();
  switch (operation.kind) {
    case Operation::Kind::reduce_scatter:
    case Operation::Kind::all_reduce:
    case Operation::Kind::all_reduce_int8:
    case Operation::Kind::reduce:
      text += concat(" ", name_of(operation.reduce), " of ", whole.count, " ", name_of(whole.type));
      if (operation.kind == Operation::Kind::reduce_scatter && !is_even(operation.counts)) {
        text += concat(" cut ", counts_text(operation.counts));
      }
      break;
    case Operation::Kind::all_gather:
    case Operation::Kind::gather:
    case Operation::Kind::scatter:
      text += concat(" of ", counts_text(operation.counts), " ", name_of(whole.type));
      break;
    case Operation::Kind::broadcast:
    case Operation::Kind::all_to_all:
      text += concat(" of ", whole.count, " ", name_of(whole.type));
      break;
    case Operation::Kind::all_to_all_v:
      text += concat(" of ", name_of(whole.type));
      break;
    case Operation::Kind::message:
      text += concat(operation.at_most ? " of at most " : " of ", whole.count, " ",
                     name_of(whole.type), " from ", source_text(operation.root), " to rank ",
                     operation.receiver, tag_text(operation.tag));
      break;
    case Operation::Kind::all_reduce_grouped:
      text += concat(" ", name_of(operation.reduce), " of ", group_text(operation.group));
      break;
    case Operation::Kind::barrier:
    case Operation::Kind::join:
      break;
  }
  if (operation.is_scaled()) {
    text +=
        concat(" scaled by ", operation.prescale, " before and ", operation.postscale, " after");
  }
  if (operation.kind == Operation::Kind::reduce || operation.kind == Operation::Kind::gather) {
    text += concat(" to rank ", operation.root);
  }
  if (operation.kind == Operation::Kind::scatter || operation.kind == Operation::Kind::broadcast) {
    text += concat(" from rank ", operation.root);
  }
  if (!operation.name.empty()) text += concat(" '", operation.name, "'");
  return text;
}

}  // namespace bp
