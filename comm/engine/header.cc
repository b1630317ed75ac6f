#include "comm/engine/header.h"

#include <bit>

#include "comm/base/mix.h"

namespace bp {

// Of all that describe() tells.
std::uint64_t Header::slot() const {
  const ConstView whole = operation->whole();
  MixHash hash;
  hash.add(group);
  hash.add(sequence);
  hash.add(algorithm);
  hash.add(static_cast<std::uint64_t>(operation->kind));
  hash.add(static_cast<std::uint64_t>(operation->reduce));
  hash.add(static_cast<std::uint64_t>(operation->root));
  hash.add(static_cast<std::uint64_t>(operation->receiver));
  hash.add(static_cast<std::uint64_t>(whole.type));
  hash.add(whole.count);
  if (operation->kind != Operation::Kind::all_to_all_v) {  // where each rank has its own
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
