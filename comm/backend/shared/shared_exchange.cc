#include <algorithm>
#include <array>

#include "comm/backend/network/exchange.h"
#include "comm/backend/shared/shared_algorithms.h"
#include "comm/backend/shared/shared_parts.h"
#include "comm/reduce/copy.h"

namespace bp {
namespace {

// Whom a rank awaits if the barrier carries all data.
SharedVectors::Peers awaited_in(const Exchange& exchange, const SharedVectors& vectors) {
  if (exchange.scatter_root >= 0) return vectors.from(exchange.scatter_root);
  return exchange.gather_root >= 0 ? vectors.to(exchange.gather_root) : vectors.all();
}

// Every block of a rank's input has `longest` of its inline bytes.
void exchange_inline(SharedVectors& vectors, CollectiveCall& call, const Exchange& exchange) {
  const auto begin_of = [&](int receiver) {
    return exchange.pieces == 1 ? 0 : static_cast<std::size_t>(receiver) * exchange.longest;
  };
  std::array<std::byte, PhaseBarrier::kInlineBytes> own{};
  for (int peer = 0; peer < vectors.size(); ++peer) {
    const Block& block = exchange.send[static_cast<std::size_t>(peer)];
    if (peer == vectors.rank()) continue;
    copy_bytes(own.data() + begin_of(peer), exchange.input + block.offset, block.count);
  }
  vectors.pass_inline_barrier(call, own, awaited_in(exchange, vectors));
  copy_own_block(exchange, vectors.rank());
  for (int peer = 0; peer < vectors.size(); ++peer) {
    const Block& block = exchange.receive[static_cast<std::size_t>(peer)];
    if (peer == vectors.rank()) continue;
    copy_bytes(exchange.output + block.offset,
               vectors.inline_bytes(peer) + begin_of(vectors.rank()), block.count);
  }
}

// One exchange of blocks that may be direct, open or staged. Each rank copies the blocks that are
// for it out of the others' inputs. The stage holds the same piece of every block, one after
// another.
class SharedExchange {
 public:
  SharedExchange(SharedVectors& vectors,
                 CollectiveCall& call,
                 const Exchange& exchange,
                 std::size_t input_bytes)
      : vectors_(vectors),
        call_(call),
        exchange_(exchange),
        input_bytes_(input_bytes),
        results_(2 * exchange.all_bytes, vectors.size()),
        opens_(results_.go_past_caches() && vectors.can_be_open()),
        stages_(!opens_ && !vectors.can_be_direct(exchange.input, input_bytes)),
        room_(vectors.enter_stage(call, exchange.longest, at(exchange.pieces))) {}

  void run() {
    bring(0);
    announce();
    const int root = exchange_.gather_root;
    if (root >= 0 && !vectors_.is_staged(root)) {
      gather_into_root();
      if (needs_stage()) vectors_.leave_stage(1);
      return;
    }
    copy_own();
    const bool staged = needs_stage();
    const std::size_t a_step = staged ? room_ : std::max(exchange_.longest, std::size_t{1});
    const std::size_t steps = steps_of(exchange_.longest, a_step);
    if (steps > 1) vectors_.settle(call_);  // before a second chunk comes to the stage
    for (std::size_t step = 0; step < steps; ++step) {
      for (int peer = 0; peer < vectors_.size(); ++peer) {
        if (peer != vectors_.rank()) fetch(peer, step, a_step);
      }
      bring(step + 1);
      vectors_.pass_barrier_after(step, steps, call_);
    }
    if (staged) vectors_.leave_stage(steps);
  }

 private:
  [[nodiscard]] static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
  [[nodiscard]] std::byte* piece(int sender, int receiver, std::size_t step) const {
    const int index = exchange_.pieces == 1 ? 0 : receiver;
    return vectors_.stage(sender, step) + at(index) * room_;
  }

  // The root of a gather announces its output, every other rank its input.
  void announce() {
    const bool is_root = vectors_.rank() == exchange_.gather_root;
    const auto accessed = [this](int peer) {
      const Block& gathered = exchange_.gathered;
      if (peer == exchange_.gather_root) return gathered.offset + gathered.count;
      return exchange_.source[at(peer)].offset + exchange_.receive[at(peer)].count;
    };
    if (const int root = exchange_.scatter_root; root >= 0 && !opens_) {
      vectors_.announce_root(call_, root, exchange_.input, input_bytes_, accessed(root));
      return;
    }
    vectors_.announce(call_, is_root ? exchange_.output : exchange_.input,
                      is_root ? exchange_.output_bytes() : input_bytes_, accessed, opens_);
  }

  // The same on all ranks.
  [[nodiscard]] bool needs_stage() const {
    for (int peer = 0; peer < vectors_.size(); ++peer) {
      if (exchange_.gives[at(peer)] && vectors_.is_staged(peer)) return true;
    }
    return false;
  }

  void copy_own() const {
    const Block& from = exchange_.send[at(vectors_.rank())];
    const Block& to = exchange_.receive[at(vectors_.rank())];
    results_.copy(exchange_.output + to.offset, exchange_.input + from.offset, from.count);
  }

  // The others can write to the root's output, so each rank copies its own block there, all at the
  // same time.
  void gather_into_root() {
    const int root = exchange_.gather_root;
    const Block& block = exchange_.gathered;
    if (vectors_.rank() == root) {
      copy_own();
    } else if (vectors_.is_direct(root)) {
      results_.copy(vectors_.direct(root, block.offset), exchange_.input, block.count);
    } else {
      vectors_.write(call_, root, block.offset, exchange_.input, block.count);
    }
    results_.finish();
    vectors_.pass_barrier(call_);
    call_.count(exchange_.received_bytes(vectors_.rank()));
  }

  // Copies this rank's blocks to its stage, for the others.
  void bring(std::size_t step) const {
    if (!stages_) return;
    const std::size_t begin = step * room_;
    for (int peer = 0; peer < vectors_.size(); ++peer) {
      const Block& block = exchange_.send[at(peer)];
      if (peer == vectors_.rank() || begin >= block.count) continue;
      vectors_.copy_to_stage(piece(vectors_.rank(), peer, step),
                             exchange_.input + block.offset + begin,
                             std::min(room_, block.count - begin));
    }
  }
  // Copies a step of the block that `peer` has for this rank.
  void fetch(int peer, std::size_t step, std::size_t a_step) {
    const std::size_t begin = step * a_step;
    const Block& block = exchange_.receive[at(peer)];
    if (begin >= block.count) return;
    const std::size_t length = std::min(a_step, block.count - begin);
    const std::size_t source = exchange_.source[at(peer)].offset + begin;
    std::byte* const to = exchange_.output + block.offset + begin;
    if (vectors_.is_open(peer)) {
      vectors_.read(call_, peer, source, to, length);
    } else {
      const bool direct = vectors_.is_direct(peer);
      results_.copy(to, direct ? vectors_.direct(peer, source) : piece(peer, vectors_.rank(), step),
                    length);
    }
    call_.count(length);
  }

  SharedVectors& vectors_;
  CollectiveCall& call_;
  const Exchange& exchange_;
  const std::size_t input_bytes_;
  const ResultCopies results_;
  // A system call copies once, the stage twice; but what fits into the caches is faster by the
  // stage.
  const bool opens_;        // this rank's vector, unless it is direct
  const bool stages_;       // this rank's input
  const std::size_t room_;  // bytes of a piece
};

}  // namespace

void shared_exchange(SharedVectors& vectors,
                     CollectiveCall& call,
                     const Exchange& exchange,
                     std::size_t input_bytes) {
  call.expect(exchange.received_bytes(vectors.rank()));
  const auto pieces = static_cast<std::size_t>(exchange.pieces);
  if (pieces * exchange.longest <= PhaseBarrier::kInlineBytes) {
    return exchange_inline(vectors, call, exchange);
  }
  SharedExchange(vectors, call, exchange, input_bytes).run();
}

}  // namespace bp
