// Brings what the ranks of one host have changed to the other hosts.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "bp/collective.h"
#include "comm/torch/owners.h"

namespace bp {

struct Exchanged {
  at::Tensor elements;  // all of a parameter's, in memory that the ranks of a host share
  std::size_t parameter = 0;
  Block range = {.offset = 0, .count = SIZE_MAX};  // of its elements, for Exchange::arrived
};

// Collective of the first ranks of all hosts (Owners::leaders()), with the same tensors in the same
// order. Each owner has changed its part, and its host has waited for that. Afterwards the tensors
// of all hosts, or of `to` only, have all parts. `part_of(i, owner)`: the owner's elements of
// parameter i. Takes some MiB of memory. `arrived` is called on each host for each piece of a
// tensor, which has a few MiB.
using PartOf = std::function<Block(std::size_t i, int owner)>;
struct Exchange {
  PartOf part_of;
  std::optional<int> to = {};
  std::function<void(const Exchanged&)> arrived = [](const Exchanged&) {};
};
void exchange_between_hosts(Owners& owners,
                            std::span<const Exchanged> tensors,
                            const Exchange& exchange);
// The same, but in the background until the call of what it returns, and with memory for all that
// is on its way. The arguments must live until then.
[[nodiscard]] std::function<void()> start_exchange(Owners& owners,
                                                   std::span<const Exchanged> tensors,
                                                   const Exchange& exchange);
// Gives the memory of the parts of other hosts, in the range, back to the system.
void free_parts_of_other_hosts(const Owners& owners,
                               const Exchanged& tensor,
                               const PartOf& part_of);

}  // namespace bp
