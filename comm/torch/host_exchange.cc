#include "comm/torch/host_exchange.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "bp/communicator.h"

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

}  // namespace

void exchange_between_hosts(Owners& owners,
                            std::span<const Exchanged> tensors,
                            const Exchange& exchange) {
  std::deque<Chunk> in_flight;
  const auto finish_first = [&] {
    in_flight.front().finish(owners.host());
    in_flight.pop_front();
  };
  while (!tensors.empty()) {
    std::size_t count = 0;
    for (std::size_t bytes = 0; count < tensors.size() && bytes < kChunk; ++count) {
      bytes += tensors[count].elements.nbytes();
    }
    if (in_flight.size() == kInFlight) finish_first();
    in_flight.emplace_back(owners, tensors.first(count), exchange);
    in_flight.back().start(*owners.leaders(), owners.host());
    tensors = tensors.subspan(count);
  }
  while (!in_flight.empty()) finish_first();
}

}  // namespace bp
