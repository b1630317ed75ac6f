#include <algorithm>
#include <array>

#include "comm/backend/shared/shared_algorithms.h"
#include "comm/backend/shared/shared_parts.h"
#include "comm/reduce/copy.h"

namespace bp {
namespace {

// The reduction to one rank, in one of two ways:
//   at once    the root reduces all vectors into its own
//   in shares  each rank reduces its share into the root's vector, directly or on the root's stage
class SharedReduce {
 public:
  SharedReduce(SharedVectors& vectors, CollectiveCall& call, View data, ReduceOp op, int root)
      : vectors_(vectors),
        call_(call),
        data_(data),
        op_(op),
        root_(root),
        is_root_(vectors.rank() == root),
        is_direct_(vectors.can_be_direct(data.data, data.bytes())) {}

  void run() {
    const std::size_t bytes = data_.bytes();
    const bool is_short = bytes <= kAtOnce;
    // Two ranks reduce staged vectors in less time at once, because the root need not copy its own
    // to the stage, and the result back.
    const bool at_once = is_short || vectors_.size() == 2;
    brings_ = !is_direct_ && !(at_once && is_root_);
    chunk_ = vectors_.enter_stage(call_, bytes);
    bring(0);
    vectors_.announce(call_, data_.data, bytes);
    const bool all_direct = vectors_.are_none_staged();
    if (all_direct) chunk_ = bytes;
    if (at_once && (is_short || !all_direct)) {
      reduce_at_once();
    } else {
      reduce_in_shares();
    }
    if (!all_direct) vectors_.leave_stage(steps_of(bytes, chunk_));
  }

 private:
  void bring(std::size_t step) const {
    const std::size_t begin = step * chunk_;
    if (!brings_ || begin >= data_.bytes()) return;
    vectors_.copy_to_stage(vectors_.stage(vectors_.rank(), step), data_.data + begin,
                           std::min(chunk_, data_.bytes() - begin));
  }

  void reduce_at_once() {
    const std::size_t steps = steps_of(data_.bytes(), chunk_);
    auto& sources = vectors_.sources();
    for (std::size_t step = 0; step < steps; ++step) {
      const std::size_t begin = step * chunk_;
      const std::size_t length = std::min(chunk_, data_.bytes() - begin);
      for (int peer = 0; is_root_ && peer < vectors_.size(); ++peer) {
        sources[static_cast<std::size_t>(peer)] =
            peer == root_ ? data_.data + begin : vectors_.part(peer, begin, step);
      }
      if (is_root_) {
        reduce_vectors(data_.type, op_, std::array{data_.data + begin}, sources,
                       length / size_of(data_.type));
      }
      bring(step + 1);
      vectors_.pass_barrier_after(step, steps, call_);
      call_.count(length);
    }
  }

  void reduce_in_shares() {
    const std::size_t steps = steps_of(data_.bytes(), chunk_);
    auto& sources = vectors_.sources();
    for (std::size_t step = 0; step < steps; ++step) {
      const std::size_t begin = step * chunk_;
      const std::size_t length = std::min(chunk_, data_.bytes() - begin);
      const Block own = share_of(whole_lines(length), length, vectors_.size(), vectors_.rank());
      for (int peer = 0; peer < vectors_.size(); ++peer) {
        sources[static_cast<std::size_t>(peer)] = vectors_.part(peer, begin, step) + own.offset;
      }
      reduce_vectors(data_.type, op_, std::array{vectors_.part(root_, begin, step) + own.offset},
                     sources, own.count / size_of(data_.type));
      bring(step + 1);
      vectors_.pass_barrier(call_);
      if (is_root_ && !is_direct_) {
        copy_bytes(data_.data + begin, vectors_.stage(root_, step), length);
      }
      call_.count(length);
    }
  }

  SharedVectors& vectors_;
  CollectiveCall& call_;
  const View data_;
  const ReduceOp op_;
  const int root_;
  const bool is_root_;
  const bool is_direct_;   // this rank's vector
  bool brings_ = true;     // its chunks to the stage
  std::size_t chunk_ = 0;  // bytes of a step
};

}  // namespace

void shared_reduce(SharedVectors& vectors, CollectiveCall& call, View data, ReduceOp op, int root) {
  call.expect(data.bytes());
  if (data.bytes() <= PhaseBarrier::kInlineBytes) {
    return shared_inline_reduce(vectors, call, data, op, root);
  }
  SharedReduce(vectors, call, data, op, root).run();
}

}  // namespace bp
