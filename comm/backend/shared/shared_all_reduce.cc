// The all-reduce in shared memory. A vector of some bytes travels with a barrier. A longer one is
// reduced in chunks, in one of two ways:
//   at once    every rank reduces the whole chunk for itself
//   in shares  each rank reduces its share of the chunk and writes it into all vectors, directly or
//              by the stages
// Two ranks copy the same number of bytes in both ways, so at once is better for them. The
// exception is halves between near cores, where the arithmetic takes most of the time. More ranks
// read less in shares.
#include <algorithm>
#include <array>

#include "comm/backend/shared/shared_algorithms.h"
#include "comm/backend/shared/shared_parts.h"
#include "comm/reduce/copy.h"

namespace bp {
namespace {

// The same for two ranks of which each would convert and round the same halves.
constexpr std::size_t kHalvesAtOnce = std::size_t{64} << 10;
// The bytes of all ranks' vectors on the stages at a time: more would not stay in the caches.
constexpr std::size_t kOnStages = std::size_t{2} << 20;

// One all-reduce of vectors, some of which may be direct and others staged.
class SharedAllReduce {
 public:
  SharedAllReduce(SharedVectors& vectors, CollectiveCall& call, View data, ReduceOp op)
      : vectors_(vectors),
        call_(call),
        data_(data),
        op_(op),
        is_direct_(vectors.can_be_direct(data.data, data.bytes())),
        at_once_(is_at_once()) {}

  void run() {
    const std::size_t bytes = data_.bytes();
    const auto ranks = static_cast<std::size_t>(vectors_.size());
    const std::size_t most = std::min(vectors_.chunk(), whole_lines(kOnStages / ranks));
    chunk_ = vectors_.enter_stage(call_, (bytes - 1) / steps_of(bytes, most) + 1);
    bring(0);
    vectors_.announce(call_, data_.data, bytes);
    if (at_once_ && vectors_.are_all_staged()) {
      reduce_at_once();
    } else {
      reduce_in_shares();
    }
  }

 private:
  // The same on all ranks, between two barriers. If some vector is direct, it does not apply.
  [[nodiscard]] bool is_at_once() const {
    const std::size_t bytes = data_.bytes();
    if (bytes <= kAtOnce) return true;
    const bool halves = data_.type == DataType::f16 || data_.type == DataType::bf16;
    return vectors_.size() == 2 && !(halves && bytes > kHalvesAtOnce && !vectors_.is_far());
  }

  void reduce_at_once() {
    const std::size_t steps = steps_of(data_.bytes(), chunk_);
    auto& sources = vectors_.sources();
    for (std::size_t step = 0; step < steps; ++step) {
      if (step > 0) vectors_.pass_barrier(call_);
      bring(step + 1);
      const std::size_t begin = step * chunk_;
      const std::size_t length = std::min(chunk_, data_.bytes() - begin);
      for (int peer = 0; peer < vectors_.size(); ++peer) {
        sources[static_cast<std::size_t>(peer)] =
            peer == vectors_.rank() ? data_.data + begin : vectors_.stage(peer, step);
      }
      reduce_vectors(data_.type, op_, std::array{data_.data + begin}, sources,
                     length / size_of(data_.type));
      call_.count(length);
    }
    vectors_.leave_stage(steps);
  }

  // The part of a stage that belongs to its rank's own share is free, since no other rank reduces
  // it. It takes the result, which the others fetch after the next barrier. While they do, the rank
  // brings the next chunk but one.
  void reduce_in_shares() {
    const int rank = vectors_.rank();
    const bool all_direct = vectors_.are_none_staged();
    if (all_direct) chunk_ = whole_lines(data_.bytes());
    at_once_ = false;
    const std::size_t steps = steps_of(data_.bytes(), chunk_);
    auto& sources = vectors_.sources();
    auto& targets = vectors_.targets();
    for (std::size_t step = 0; step < steps; ++step) {
      const Block own = share(rank, step);
      const std::size_t at = step * chunk_ + own.offset;
      targets.assign(1, data_.data + at);
      for (int peer = 0; peer < vectors_.size(); ++peer) {
        std::byte* const theirs = vectors_.is_direct(peer)
                                      ? vectors_.direct(peer, at)
                                      : vectors_.stage(peer, step) + own.offset;
        sources[static_cast<std::size_t>(peer)] = peer == rank ? data_.data + at : theirs;
        if (peer != rank && vectors_.is_direct(peer)) targets.push_back(theirs);
      }
      reduce_vectors(data_.type, op_, targets, sources, own.count / size_of(data_.type));
      if (!all_direct) {
        vectors_.copy_to_stage(vectors_.stage(rank, step) + own.offset, data_.data + at, own.count);
      }
      bring(step + 1);
      vectors_.pass_barrier(call_);
      fetch(step);
      call_.count(std::min(chunk_, data_.bytes() - step * chunk_));
    }
    if (!all_direct) vectors_.leave_stage(steps);
  }

  // Returns a rank's share in a step, in bytes from the step's first one.
  [[nodiscard]] Block share(int peer, std::size_t step) const {
    const std::size_t length = std::min(chunk_, data_.bytes() - step * chunk_);
    return share_of(whole_lines(length), length, vectors_.size(), peer);
  }
  // Copies to this rank's stage what the others will reduce of a chunk.
  void bring(std::size_t step) {
    const std::size_t begin = step * chunk_;
    if (is_direct_ || begin >= data_.bytes()) return;
    for (int peer = 0; peer < vectors_.size(); ++peer) {
      const Block theirs = share(peer, step);
      if (peer == vectors_.rank() && !at_once_) continue;
      vectors_.copy_to_stage(vectors_.stage(vectors_.rank(), step) + theirs.offset,
                             data_.data + begin + theirs.offset, theirs.count);
    }
  }
  // Copies the others' results of a chunk from their stages.
  void fetch(std::size_t step) const {
    if (is_direct_) return;
    for (int peer = 0; peer < vectors_.size(); ++peer) {
      const Block theirs = share(peer, step);
      if (peer == vectors_.rank()) continue;
      copy_bytes(data_.data + step * chunk_ + theirs.offset,
                 vectors_.stage(peer, step) + theirs.offset, theirs.count);
    }
  }

  SharedVectors& vectors_;
  CollectiveCall& call_;
  const View data_;
  const ReduceOp op_;
  const bool is_direct_;  // this rank's vector
  bool at_once_;
  std::size_t chunk_ = 0;  // bytes of a step
};

}  // namespace

void shared_inline_reduce(
    SharedVectors& vectors, CollectiveCall& call, View data, ReduceOp op, std::optional<int> root) {
  const SharedVectors::Peers awaited = root ? vectors.to(*root) : vectors.all();
  vectors.pass_inline_barrier(call, {data.data, data.bytes()}, awaited);
  if (root && *root != vectors.rank()) return;
  auto& sources = vectors.sources();
  for (int peer = 0; peer < vectors.size(); ++peer) {
    sources[static_cast<std::size_t>(peer)] = vectors.inline_bytes(peer);
  }
  reduce_vectors(data.type, op, std::array{data.data}, sources, data.count);
}

void shared_all_reduce(SharedVectors& vectors, CollectiveCall& call, View data, ReduceOp op) {
  call.expect(data.bytes());
  if (data.bytes() <= PhaseBarrier::kInlineBytes) {
    return shared_inline_reduce(vectors, call, data, op);
  }
  SharedAllReduce(vectors, call, data, op).run();
}

}  // namespace bp
