#include "comm/engine/header.h"

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
  hash.add(operation->name);
  return hash.value();
}

}  // namespace bp
