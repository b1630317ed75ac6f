// Brings ranks the elements of tensors that others have. Many parts travel together, in buffers of
// a few MiB.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "bp/collective.h"
#include "bp/communicator.h"
#include "comm/torch/owners.h"

namespace bp {

// Returns these elements of a vector.
[[nodiscard]] at::Tensor slice(const at::Tensor& flat, const Block& block);
[[nodiscard]] std::span<std::byte> bytes_of(const at::Tensor& dense);

struct Exchanged {
  at::Tensor elements = {};  // what this rank has of a tensor, in the order of memory
  std::size_t begin = 0;     // the first of them
  std::size_t number = 0;    // the tensor's, for PartOf
};
// Returns which elements of a tensor a rank has. All ranks have all, one after another.
using PartOf = std::function<Block(std::size_t number, int rank)>;

// Returns the part of a rank of a vector of which `root` has all.
[[nodiscard]] Block all_of(int root, std::int64_t count, int rank);

// A part that has arrived, or was this rank's own.
struct Arrived {
  std::size_t index = 0;  // among the tensors that were given
  Block range = {};       // of its elements
  at::Tensor values = {};
};

// Copies the elements of the part that lie in `range`, which `to` has.
void copy_overlap(const Arrived& part, const at::Tensor& to, const Block& range);

struct Exchange {
  Communicator& comm;
  PartOf part_of;
  // Called for each part, in order. None: others' parts are written to Exchanged::elements, which
  // are whole.
  std::function<void(const Arrived& part)> arrived = {};
};

// Collective of the ranks of exchange.comm, each with the same tensors in the same order.
void exchange_parts(std::span<const Exchanged> tensors, const Exchange& exchange);
// The same, but in the background until the call of what it returns, and with memory for all that
// is on its way. The arguments must live until then.
[[nodiscard]] std::function<void()> start_exchange(std::span<const Exchanged> tensors,
                                                   const Exchange& exchange);

// Returns the exchange of parts that lie in each host's shared memory, by the first rank of each.
// Nothing on another rank, and with one host. `owners` must outlive it.
[[nodiscard]] std::optional<Exchange> between_hosts(Owners& owners, PartOf part_of);

// Collective of all ranks. Brings what the host of rank `root` of the world has in these tensors,
// which lie in each host's shared memory, to all hosts.
void broadcast_between_hosts(Owners& owners, const std::vector<at::Tensor>& tensors, int root);

// Collective. Copies root's tensors, of any types and on any devices, to all ranks, bit for bit.
void broadcast_tensors(Communicator& comm, const std::vector<at::Tensor>& tensors, int root);

}  // namespace bp
