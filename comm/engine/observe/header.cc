#include "comm/engine/observe/header.h"

#include <bit>

#include "base/mix.h"

namespace bp {
namespace {

template <class Small>
std::uint64_t bits(Small value) {
  static_assert(sizeof(Small) <= sizeof(std::uint32_t));
  return static_cast<std::uint32_t>(value);
}

}  // namespace

// Hashes everything that describe() says of a collective. Messages use message_slot() instead.
std::uint64_t Header::slot() const {
  const ConstView whole = operation->whole();
  MixHash hash;
  hash.add(group);
  hash.add(sequence);
  hash.add(algorithm);
  hash.add(bits(operation->kind) | bits(operation->reduce) << 8 | bits(whole.type) << 16);
  hash.add(bits(operation->root));
  hash.add(whole.count);
  if (operation->kind != Operation::Kind::all_to_all_v) {  // whose counts differ between ranks
    for (const std::size_t count : operation->counts) hash.add(count);
  }
  for (const View& tensor : operation->group) {
    hash.add(static_cast<std::uint64_t>(tensor.type));
    hash.add(tensor.count);
  }
  if (operation->is_scaled()) {
    hash.add(std::bit_cast<std::uint64_t>(operation->prescale));
    hash.add(std::bit_cast<std::uint64_t>(operation->postscale));
  }
  hash.add(operation->name);
  return hash.value();
}

}  // namespace bp
