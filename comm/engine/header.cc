#include "comm/engine/header.h"

#include <algorithm>

#include "comm/base/text.h"

namespace bp {
namespace {

// FNV-1a over the bytes, then the finalizer of MurmurHash3: every bit of the input reaches every
// bit of the output.
class Hash {
 public:
  void add(std::string_view text) {
    for (const char c : text) step(static_cast<unsigned char>(c));
    step(0xff);  // so that {"a", "b"} differs from {"ab", ""}
  }
  [[nodiscard]] std::uint64_t value() const {
    std::uint64_t h = state_;
    h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdULL;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    return h ^ (h >> 33);
  }

 private:
  void step(unsigned char byte) { state_ = (state_ ^ byte) * 0x100000001b3ULL; }
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

std::string counts_text(const std::vector<std::size_t>& counts) {
  const bool equal = std::adjacent_find(counts.begin(), counts.end(),
                                        [](auto a, auto b) { return a != b; }) == counts.end();
  if (counts.empty() || equal) return concat(counts.empty() ? 0 : counts.front());
  constexpr std::size_t kShown = 8;
  std::string text;
  Hash all;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    if (r < kShown) text += concat(r == 0 ? "" : "+", counts[r]);
    all.add(concat(counts[r]));
  }
  return counts.size() <= kShown ? text : concat(text, "+... (layout ", all.value(), ")");
}

}  // namespace

std::uint64_t Header::slot() const {
  Hash hash;
  hash.add(group);
  hash.add(concat(sequence));
  hash.add(request);
  hash.add(algorithm);
  return hash.value();
}

std::string describe(const Operation& operation) {
  std::string text(name_of(operation.kind));
  const ConstView whole = operation.whole();
  switch (operation.kind) {
    case Operation::Kind::all_reduce:
    case Operation::Kind::reduce_scatter:
      text += concat(" ", name_of(operation.reduce), " of ", whole.count, " ", name_of(whole.type));
      break;
    case Operation::Kind::broadcast:
      text += concat(" of ", whole.count, " ", name_of(whole.type), " from rank ", operation.root);
      break;
    case Operation::Kind::all_gather:
      text += concat(" of ", counts_text(operation.counts), " ", name_of(whole.type));
      break;
    case Operation::Kind::barrier:
      break;
  }
  if (!operation.name.empty()) text += concat(" '", operation.name, "'");
  return text;
}

}  // namespace bp
