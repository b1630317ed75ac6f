#include "comm/torch/part_exchange.h"

#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <utility>

#include "bp/torch/collective.h"
#include "comm/torch/shared_room.h"
#include "comm/torch/tensor_view.h"

namespace bp {
namespace {

constexpr std::size_t kChunk = std::size_t{4} << 20;  // bytes of tensors that travel together
constexpr std::size_t kInFlight = 3;                  // chunks

// Returns memory in which collectives work, on the device of `like`.
at::Tensor buffer_of(Communicator& comm, std::size_t count, const at::Tensor& like) {
  const auto size = static_cast<std::int64_t>(count);
  if (!like.is_cpu()) return at::empty({size}, like.options());
  const auto memory = std::make_shared<Buffer>(comm.allocate(count * like.element_size()));
  return at::from_blob(
      memory->data(), {size}, [memory](void*) {}, at::dtype(like.scalar_type()));
}

Block overlap(const Block& a, const Block& b) {
  const std::size_t begin = std::max(a.offset, b.offset);
  const std::size_t end = std::min(a.offset + a.count, b.offset + b.count);
  return {.offset = begin, .count = end > begin ? end - begin : 0};
}

struct Piece {
  std::size_t index = 0;  // of its tensor
  Block range = {};
};

// Some pieces of tensors of one type on their way: the parts of one rank after those of another.
class Chunk {
 public:
  Chunk(std::span<const Exchanged> tensors,
        const Exchange& exchange,
        const std::vector<Piece>& pieces)
      : exchange_(exchange), counts_(static_cast<std::size_t>(exchange.comm.size())) {
    std::size_t count = 0;
    for (const Piece& piece : pieces) count += piece.range.count;
    buffer_ = buffer_of(exchange.comm, count, tensors[pieces[0].index].elements);
    for (int rank = 0; rank < exchange.comm.size(); ++rank) {
      for (const Piece& piece : pieces) place_part(tensors[piece.index], piece, rank);
    }
    if (!own_.here.empty()) at::_foreach_copy_(own_.there, own_.here);
    const View all = view_of(buffer_);
    View own = all;
    own.count = counts_[static_cast<std::size_t>(exchange.comm.rank())];
    if (own.count > 0) own.data = view_of(own_.there[0]).data;
    work_ = all_gather_v_async(exchange.comm, own, all, counts_,
                               after_work_on(buffer_, {.name = "parts of tensors"}));
  }

  void finish() {
    work_.wait();
    if (exchange_.arrived) {
      std::ranges::for_each(parts_, exchange_.arrived);
    } else if (!others_.here.empty()) {
      at::_foreach_copy_(others_.here, others_.there);
    }
  }

 private:
  struct Copies {
    std::vector<at::Tensor> here = {};   // in the tensors
    std::vector<at::Tensor> there = {};  // in the buffer
  };

  void place_part(const Exchanged& tensor, const Piece& piece, int rank) {
    const Block part = overlap(exchange_.part_of(tensor.number, rank), piece.range);
    if (part.count == 0) return;
    const at::Tensor there = slice(buffer_, {.offset = placed_, .count = part.count});
    placed_ += part.count;
    counts_[static_cast<std::size_t>(rank)] += part.count;
    parts_.push_back({.index = piece.index, .range = part, .values = there});
    const bool is_own = rank == exchange_.comm.rank();
    if (!is_own && exchange_.arrived) return;
    Copies& copies = is_own ? own_ : others_;
    copies.here.push_back(slice(tensor.elements, {part.offset - tensor.begin, part.count}));
    copies.there.push_back(there);
  }

  const Exchange& exchange_;
  std::vector<std::size_t> counts_;  // elements, by rank
  at::Tensor buffer_;
  std::size_t placed_ = 0;  // elements of it
  std::vector<Arrived> parts_;
  Copies own_;
  Copies others_;
  Work work_;
};

// Chunks on their way, in order.
class InFlight {
 public:
  // Starts all tensors. Never are more than `most` chunks on their way.
  InFlight(std::span<const Exchanged> tensors, const Exchange& exchange, std::size_t most) {
    std::vector<Piece> pieces;
    std::size_t bytes = 0;
    const auto start_chunk = [&] {
      if (pieces.empty()) return;
      if (chunks_.size() == most) finish_first();
      chunks_.emplace_back(tensors, exchange, std::exchange(pieces, {}));
      bytes = 0;
    };
    for (std::size_t index = 0; index < tensors.size(); ++index) {
      const at::Tensor& elements = tensors[index].elements;
      const Block last = exchange.part_of(tensors[index].number, exchange.comm.size() - 1);
      const std::size_t count = last.offset + last.count;
      const std::size_t size = elements.element_size();
      if (!pieces.empty()) {
        const at::Tensor& first = tensors[pieces[0].index].elements;
        const bool is_alike =
            first.scalar_type() == elements.scalar_type() && first.device() == elements.device();
        if (!is_alike) start_chunk();
      }
      for (std::size_t i = 0; i < count; i += pieces.back().range.count) {
        if (bytes >= kChunk) start_chunk();
        const std::size_t room = (kChunk - bytes + size - 1) / size;
        pieces.push_back({index, {.offset = i, .count = std::min(room, count - i)}});
        bytes += pieces.back().range.count * size;
      }
    }
    start_chunk();
  }
  void finish() {
    while (!chunks_.empty()) finish_first();
  }

 private:
  void finish_first() {
    chunks_.front().finish();
    chunks_.pop_front();
  }

  std::deque<Chunk> chunks_;
};

}  // namespace

at::Tensor slice(const at::Tensor& flat, const Block& block) {
  return flat.narrow(0, static_cast<std::int64_t>(block.offset),
                     static_cast<std::int64_t>(block.count));
}

std::span<std::byte> bytes_of(const at::Tensor& dense) {
  return {static_cast<std::byte*>(dense.data_ptr()), dense.nbytes()};
}

void copy_overlap(const Arrived& part, const at::Tensor& to, const Block& range) {
  const Block both = overlap(part.range, range);
  if (both.count == 0) return;
  const auto of_both = [&both](const at::Tensor& elements, std::size_t begin) {
    return slice(elements, {.offset = both.offset - begin, .count = both.count});
  };
  of_both(to, range.offset).copy_(of_both(part.values, part.range.offset));
}

void exchange_parts(std::span<const Exchanged> tensors, const Exchange& exchange) {
  InFlight(tensors, exchange, kInFlight).finish();
}

std::function<void()> start_exchange(std::span<const Exchanged> tensors, const Exchange& exchange) {
  const auto in_flight =
      std::make_shared<InFlight>(tensors, exchange, std::numeric_limits<std::size_t>::max());
  return [in_flight] { in_flight->finish(); };
}

void broadcast_tensors(Communicator& comm, const std::vector<at::Tensor>& tensors, int root) {
  if (comm.size() == 1) return;
  std::vector<Exchanged> bytes;
  for (const at::Tensor& tensor : tensors) {
    bytes.push_back({.elements = flat(tensor).view(at::kByte), .number = bytes.size()});
  }
  exchange_parts(bytes, {.comm = comm, .part_of = [&](std::size_t number, int rank) {
                           return all_of(root, bytes[number].elements.numel(), rank);
                         }});
}

Block all_of(int root, std::int64_t count, int rank) {
  const auto all = static_cast<std::size_t>(count);
  return {.offset = rank > root ? all : 0, .count = rank == root ? all : 0};
}

std::optional<Exchange> between_hosts(Owners& owners, PartOf part_of) {
  Communicator* const leaders = owners.leaders();
  if (leaders == nullptr) return std::nullopt;
  const auto part_of_host = [&owners, part_of = std::move(part_of)](std::size_t number, int host) {
    const int first = owners.topology().leader_of(host);
    const int ranks = owners.topology().local_sizes[static_cast<std::size_t>(host)];
    const Block begin = part_of(number, first);
    const Block end = part_of(number, first + ranks - 1);
    return Block{.offset = begin.offset, .count = end.offset + end.count - begin.offset};
  };
  return Exchange{.comm = *leaders, .part_of = part_of_host};
}

void broadcast_between_hosts(Owners& owners, const std::vector<at::Tensor>& tensors, int root) {
  barrier(owners.local(), {.name = "shared memory is written"});
  if (owners.hosts() == 1) return;
  if (owners.leaders() != nullptr) {
    broadcast_tensors(*owners.leaders(), tensors, owners.host_of(root));
  }
  barrier(owners.local(), {.name = "shared memory has arrived"});
}

}  // namespace bp
