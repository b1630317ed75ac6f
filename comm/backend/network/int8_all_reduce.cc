#include <algorithm>
#include <functional>
#include <vector>

#include "comm/backend/network/algorithms.h"
#include "comm/reduce/int8.h"

namespace bp {
namespace {

// Returns a block of whole blocks of int8 for each rank; the last one may have fewer elements.
std::vector<Block> cut_into_pieces(std::size_t count, int ranks) {
  std::vector<Block> pieces;
  for (int r = 0; r < ranks; ++r) {
    const Block blocks = block_of((count + kInt8Block - 1) / kInt8Block, ranks, r);
    const std::size_t begin = std::min(blocks.offset * kInt8Block, count);
    const std::size_t end = std::min((blocks.offset + blocks.count) * kInt8Block, count);
    pieces.push_back({.offset = begin, .count = end - begin});
  }
  return pieces;
}

class Int8AllReduce {
 public:
  Int8AllReduce(CollectiveCall& call, const View& data, std::byte* errors)
      : call_(call),
        data_(data),
        errors_(errors),
        at_once_(call.size() == 2),
        pieces_(at_once_ ? std::vector<Block>(2, {.count = data.count})
                         : cut_into_pieces(data.count, call.size())),
        own_(pieces_[at(call.rank())]) {
    const std::size_t whole = int8_bytes(data.count);
    const std::size_t piece = int8_bytes(own_.count);
    const std::span<std::byte> room = call.scratch(whole + (pieces_.size() - 1) * piece);
    encoded_ = room.first(whole);
    received_ = room.subspan(whole);
    call.expect(received_.size() + (at_once_ ? 0 : whole - piece));
  }

  void run() {
    if (at_once_) encode(own_);
    exchange([&](int to) { return at_once_ ? encoded_ : encode(pieces_[at(to)]); },
             [&](int from) { return received_from(from); });
    if (at_once_) from_int8(data_.data, encoded_.data(), data_.count);
    for (int r = 0; r < call_.size(); ++r) {
      if (r == call_.rank()) continue;
      add_int8(floats(data_.data, own_), received_from(r).data(), own_.count);
    }
    if (at_once_) return;
    const std::span<std::byte> sums = encode(own_);
    exchange([&](int) { return sums; }, [&](int from) { return encoded(pieces_[at(from)]); });
    from_int8(data_.data, encoded_.data(), data_.count);
  }

 private:
  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
  static std::byte* floats(std::byte* all, const Block& piece) {
    return all == nullptr ? nullptr : all + piece.offset * sizeof(float);
  }
  [[nodiscard]] std::span<std::byte> encoded(const Block& piece) const {
    return encoded_.subspan(int8_bytes(piece.offset), int8_bytes(piece.count));
  }
  [[nodiscard]] std::span<std::byte> received_from(int rank) const {
    const std::size_t piece = int8_bytes(own_.count);
    return received_.subspan((at(rank) - (rank > call_.rank() ? 1 : 0)) * piece, piece);
  }
  std::span<std::byte> encode(const Block& piece) const {
    const std::span<std::byte> out = encoded(piece);
    to_int8(out.data(), floats(data_.data, piece), floats(errors_, piece), piece.count);
    return out;
  }

  using BytesOf = std::function<std::span<std::byte>(int rank)>;
  void exchange(const BytesOf& to_send, const BytesOf& to_receive) const {
    std::vector<CollectiveCall::Message> messages;
    const int ranks = call_.size();
    for (int i = 1; i < ranks; ++i) {
      const int from = (call_.rank() + ranks - i) % ranks;
      messages.push_back(call_.receive(from, to_receive(from)));
    }
    for (int i = 1; i < ranks; ++i) {
      const int to = (call_.rank() + i) % ranks;
      messages.push_back(call_.send(to, to_send(to)));
    }
    for (CollectiveCall::Message& message : messages) call_.wait(message);
  }

  CollectiveCall& call_;
  const View data_;
  std::byte* const errors_;
  const bool at_once_;
  const std::vector<Block> pieces_;  // by the rank that adds it up
  const Block own_;
  std::span<std::byte> encoded_;   // the whole vector
  std::span<std::byte> received_;  // this rank's piece, from each other one
};

}  // namespace

void int8_all_reduce(CollectiveCall& call, const View& data, std::byte* errors) {
  Int8AllReduce(call, data, errors).run();
}

}  // namespace bp
