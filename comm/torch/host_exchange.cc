#include "comm/torch/host_exchange.h"

#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "bp/communicator.h"
#include "bp/torch/collective.h"
#include "comm/torch/give_back.h"
#include "comm/torch/tensor_view.h"

namespace bp {
namespace {

constexpr std::size_t kChunk = std::size_t{4} << 20;  // bytes of tensors that travel together
constexpr std::size_t kInFlight = 3;                  // chunks

// Returns memory in which collectives work, on the device of `like`.
at::Tensor buffer_of(Communicator& comm, std::int64_t count, const at::Tensor& like) {
  if (!like.is_cpu()) return at::empty({count}, like.options());
  const auto memory = std::make_shared<Buffer>(
      comm.allocate(static_cast<std::size_t>(count) * like.element_size()));
  return at::from_blob(
      memory->data(), {count}, [memory](void*) {}, at::dtype(like.scalar_type()));
}

Block overlap(const Block& a, const Block& b) {
  const std::size_t begin = std::max(a.offset, b.offset);
  const std::size_t end = std::min(a.offset + a.count, b.offset + b.count);
  return {.offset = begin, .count = end > begin ? end - begin : 0};
}

// Some pieces of tensors of one type on their way: the parts of one host after those of another.
class Chunk {
 public:
  Chunk(Owners& owners, std::vector<Exchanged> pieces, const Exchange& exchange)
      : pieces_(std::move(pieces)),
        exchange_(exchange),
        counts_(static_cast<std::size_t>(owners.hosts())) {
    std::size_t count = 0;
    for (const Exchanged& piece : pieces_) count += piece.range.count;
    buffer_ = buffer_of(*owners.leaders(), static_cast<std::int64_t>(count), pieces_[0].elements);
    place_parts(owners);
    if (!own_.parts.empty()) at::_foreach_copy_(own_.places, own_.parts);
    const View all = view_of(buffer_);
    View own = all;
    own.count = counts_[static_cast<std::size_t>(owners.host())];
    if (own.count > 0) own.data = view_of(own_.places[0]).data;
    work_ = all_gather_v_async(*owners.leaders(), own, all, counts_,
                               after_work_on(buffer_, {.name = "parts of other hosts"}));
  }

  void finish(int host) {
    work_.wait();
    const bool receives = exchange_.to.value_or(host) == host;
    if (receives && !others_.parts.empty()) at::_foreach_copy_(others_.parts, others_.places);
    std::ranges::for_each(pieces_, exchange_.arrived);
  }

 private:
  struct Pairs {
    std::vector<at::Tensor> parts = {};
    std::vector<at::Tensor> places = {};  // in the buffer
  };

  void place_parts(const Owners& owners) {
    std::int64_t place = 0;
    for (int owner = 0; owner < owners.size(); ++owner) {
      const int host = owners.host_of(owner);
      Pairs& pairs = host == owners.host() ? own_ : others_;
      for (const Exchanged& tensor : pieces_) {
        const Block part = overlap(exchange_.part_of(tensor.parameter, owner), tensor.range);
        if (part.count == 0) continue;
        const auto first = static_cast<std::int64_t>(part.offset);
        const auto count = static_cast<std::int64_t>(part.count);
        pairs.parts.push_back(tensor.elements.narrow(0, first, count));
        pairs.places.push_back(buffer_.narrow(0, place, count));
        counts_[static_cast<std::size_t>(host)] += part.count;
        place += count;
      }
    }
  }

  std::vector<Exchanged> pieces_;
  const Exchange& exchange_;
  std::vector<std::size_t> counts_;  // elements, by host
  at::Tensor buffer_;
  Pairs own_;
  Pairs others_;
  Work work_;
};

// Chunks on their way, in order.
class InFlight {
 public:
  explicit InFlight(Owners& owners) : owners_(owners) {}

  // Starts all tensors. Never are more than `most` chunks on their way.
  void start(std::span<const Exchanged> tensors, const Exchange& exchange, std::size_t most) {
    std::vector<Exchanged> pieces;
    std::size_t bytes = 0;
    const auto start_chunk = [&] {
      if (pieces.empty()) return;
      if (chunks_.size() == most) finish_first();
      chunks_.emplace_back(owners_, std::exchange(pieces, {}), exchange);
      bytes = 0;
    };
    for (Exchanged piece : tensors) {
      const auto count = static_cast<std::size_t>(piece.elements.numel());
      const std::size_t size = piece.elements.element_size();
      const bool is_of_type =
          pieces.empty() || pieces[0].elements.scalar_type() == piece.elements.scalar_type();
      if (!is_of_type) start_chunk();
      for (std::size_t i = 0; i < count; i += piece.range.count) {
        piece.range = {.offset = i,
                       .count = std::min((kChunk - bytes + size - 1) / size, count - i)};
        pieces.push_back(piece);
        bytes += piece.range.count * size;
        if (bytes >= kChunk) start_chunk();
      }
    }
    start_chunk();
  }
  void finish() {
    while (!chunks_.empty()) finish_first();
  }

 private:
  void finish_first() {
    chunks_.front().finish(owners_.host());
    chunks_.pop_front();
  }

  Owners& owners_;
  std::deque<Chunk> chunks_;
};

}  // namespace

void exchange_between_hosts(Owners& owners,
                            std::span<const Exchanged> tensors,
                            const Exchange& exchange) {
  InFlight in_flight(owners);
  in_flight.start(tensors, exchange, kInFlight);
  in_flight.finish();
}

std::function<void()> start_exchange(Owners& owners,
                                     std::span<const Exchanged> tensors,
                                     const Exchange& exchange) {
  const auto in_flight = std::make_shared<InFlight>(owners);
  in_flight->start(tensors, exchange, std::numeric_limits<std::size_t>::max());
  return [in_flight] { in_flight->finish(); };
}

void free_parts_of_other_hosts(const Owners& owners,
                               const Exchanged& tensor,
                               const PartOf& part_of) {
  for (int owner = 0; owner < owners.size(); ++owner) {
    if (owners.host_of(owner) == owners.host()) continue;
    const Block part = overlap(part_of(tensor.parameter, owner), tensor.range);
    const std::size_t size = tensor.elements.element_size();
    give_back({static_cast<std::byte*>(tensor.elements.data_ptr()) + part.offset * size,
               part.count * size});
  }
}

}  // namespace bp
