#include "comm/torch/host_exchange.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "bp/communicator.h"
#include "comm/torch/give_back.h"

namespace bp {
namespace {

constexpr std::size_t kChunk = std::size_t{4} << 20;  // bytes of tensors that travel together
constexpr std::size_t kInFlight = 3;                  // chunks

// Some tensors on their way: the parts of one host after those of another.
class Chunk {
 public:
  Chunk(Owners& owners, std::span<const Exchanged> tensors, const Exchange& exchange)
      : tensors_(tensors), exchange_(exchange), counts_(static_cast<std::size_t>(owners.hosts())) {
    for (int owner = 0; owner < owners.size(); ++owner) {
      for (const Exchanged& tensor : tensors) {
        const Block part = exchange.part_of(tensor.parameter, owner);
        const std::size_t size = tensor.elements.element_size();
        parts_.push_back(
            {.host = owners.host_of(owner),
             .data = static_cast<std::byte*>(tensor.elements.data_ptr()) + part.offset * size,
             .bytes = part.count * size});
        counts_[static_cast<std::size_t>(parts_.back().host)] += parts_.back().bytes;
        bytes_ += parts_.back().bytes;
      }
    }
  }

  void start(Communicator& leaders, int host) {
    buffer_ = leaders.allocate(bytes_);
    View own = {buffer_.data(), 0, DataType::u8};
    for_parts([&](const Part& part, std::byte* place) {
      if (part.host != host) return;
      if (own.count == 0) own.data = place;
      own.count += part.bytes;
      std::memcpy(place, part.data, part.bytes);
    });
    work_ = all_gather_v_async(leaders, own, {buffer_.data(), bytes_, DataType::u8}, counts_,
                               {.name = "parts of other hosts"});
  }

  void finish(int host) {
    work_.wait();
    if (exchange_.to.value_or(host) == host) {
      for_parts([&](const Part& part, const std::byte* place) {
        if (part.host != host) std::memcpy(part.data, place, part.bytes);
      });
    }
    std::ranges::for_each(tensors_, exchange_.arrived);
  }

 private:
  struct Part {
    int host = 0;
    std::byte* data = nullptr;
    std::size_t bytes = 0;
  };

  template <class Act>
  void for_parts(const Act& act) {
    std::byte* place = buffer_.data();
    for (const Part& part : parts_) {
      act(part, place);
      place += part.bytes;
    }
  }

  std::span<const Exchanged> tensors_;
  const Exchange& exchange_;
  std::vector<std::size_t> counts_;  // bytes, by host
  std::vector<Part> parts_;          // host by host, as owners are numbered
  std::size_t bytes_ = 0;
  Buffer buffer_;
  Work work_;
};

// Chunks on their way, in order.
class InFlight {
 public:
  explicit InFlight(Owners& owners) : owners_(owners) {}

  // Starts all tensors. Never are more than `most` chunks on their way.
  void start(std::span<const Exchanged> tensors, const Exchange& exchange, std::size_t most) {
    while (!tensors.empty()) {
      std::size_t count = 0;
      for (std::size_t bytes = 0; count < tensors.size() && bytes < kChunk; ++count) {
        bytes += tensors[count].elements.nbytes();
      }
      if (chunks_.size() == most) finish_first();
      chunks_.emplace_back(owners_, tensors.first(count), exchange);
      chunks_.back().start(*owners_.leaders(), owners_.host());
      tensors = tensors.subspan(count);
    }
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
    const Block part = part_of(tensor.parameter, owner);
    const std::size_t size = tensor.elements.element_size();
    give_back({static_cast<std::byte*>(tensor.elements.data_ptr()) + part.offset * size,
               part.count * size});
  }
}

}  // namespace bp
