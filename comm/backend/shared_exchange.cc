#include <algorithm>
#include <array>

#include "comm/backend/exchange.h"
#include "comm/backend/result_copies.h"
#include "comm/backend/shared_algorithms.h"
#include "comm/backend/shared_parts.h"
#include "comm/reduce/copy.h"

namespace bp {
namespace {

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
  vectors.pass_inline_barrier(call, own);
  copy_own_block(exchange, vectors.rank());
  for (int peer = 0; peer < vectors.size(); ++peer) {
    const Block& block = exchange.receive[static_cast<std::size_t>(peer)];
    if (peer == vectors.rank()) continue;
    copy_bytes(exchange.output + block.offset,
               vectors.inline_bytes(peer) + begin_of(vectors.rank()), block.count);
  }
}

void copy_own(const Exchange& exchange, int rank, const ResultCopies& results) {
  const Block& from = exchange.send[static_cast<std::size_t>(rank)];
  const Block& to = exchange.receive[static_cast<std::size_t>(rank)];
  results.copy(exchange.output + to.offset, exchange.input + from.offset, from.count);
}

// The root's output lies in its arena, so each rank copies its own block there, all at the same
// time.
void gather_into_root(SharedVectors& vectors,
                      CollectiveCall& call,
                      const Exchange& exchange,
                      const ResultCopies& results) {
  if (vectors.rank() != exchange.root) {
    results.copy(vectors.direct(exchange.root, exchange.gathered.offset), exchange.input,
                 exchange.gathered.count);
  }
  copy_own(exchange, vectors.rank(), results);
  results.finish();
  vectors.pass_barrier(call);
  call.count(exchange.received_bytes(vectors.rank()));
}

}  // namespace

// Each rank copies the blocks that are for it out of the others' inputs. The stage holds the same
// piece of every block, one after another.
void shared_exchange(SharedVectors& vectors,
                     CollectiveCall& call,
                     const Exchange& exchange,
                     std::size_t input_bytes) {
  const int rank = vectors.rank();
  const int ranks = vectors.size();
  call.expect(exchange.received_bytes(rank));
  const auto pieces = static_cast<std::size_t>(exchange.pieces);
  if (pieces * exchange.longest <= PhaseBarrier::kInlineBytes) {
    return exchange_inline(vectors, call, exchange);
  }
  const std::size_t room = vectors.enter_stage(exchange.longest, pieces);
  const auto piece = [&](int sender, int receiver, std::size_t step) {
    const int index = exchange.pieces == 1 ? 0 : receiver;
    return vectors.stage(sender, step) + static_cast<std::size_t>(index) * room;
  };
  const bool is_direct = vectors.can_be_direct(exchange.input, input_bytes);
  const auto bring = [&](std::size_t step) {
    const std::size_t begin = step * room;
    for (int peer = 0; peer < ranks && !is_direct; ++peer) {
      const Block& block = exchange.send[static_cast<std::size_t>(peer)];
      if (peer == rank || begin >= block.count) continue;
      vectors.copy_to_stage(piece(rank, peer, step), exchange.input + block.offset + begin,
                            std::min(room, block.count - begin));
    }
  };
  bring(0);
  const bool is_root = rank == exchange.root;
  vectors.announce(call, is_root ? exchange.output : exchange.input,
                   is_root ? exchange.output_bytes() : input_bytes, [&](int peer) {
                     if (peer == exchange.root) {
                       return exchange.gathered.offset + exchange.gathered.count;
                     }
                     const auto index = static_cast<std::size_t>(peer);
                     return exchange.source[index].offset + exchange.receive[index].count;
                   });
  bool all_direct = true;  // the inputs of all ranks that give something
  for (int peer = 0; peer < ranks; ++peer) {
    const bool gives = exchange.gives[static_cast<std::size_t>(peer)];
    all_direct = all_direct && (vectors.is_direct(peer) || !gives);
  }
  const ResultCopies results(2 * exchange.all_bytes, ranks);
  if (exchange.root >= 0 && vectors.is_direct(exchange.root)) {
    gather_into_root(vectors, call, exchange, results);
    if (!all_direct) vectors.leave_stage(1);
    return;
  }
  copy_own(exchange, rank, results);
  const std::size_t a_step = all_direct ? std::max(exchange.longest, std::size_t{1}) : room;
  const std::size_t steps = steps_of(exchange.longest, a_step);
  for (std::size_t step = 0; step < steps; ++step) {
    const std::size_t begin = step * a_step;
    for (int peer = 0; peer < ranks; ++peer) {
      const Block& block = exchange.receive[static_cast<std::size_t>(peer)];
      if (peer == rank || begin >= block.count) continue;
      const std::size_t length = std::min(a_step, block.count - begin);
      const std::size_t source = exchange.source[static_cast<std::size_t>(peer)].offset;
      results.copy(
          exchange.output + block.offset + begin,
          vectors.is_direct(peer) ? vectors.direct(peer, source + begin) : piece(peer, rank, step),
          length);
      call.count(length);
    }
    bring(step + 1);
    vectors.pass_barrier_after(step, steps, call);
  }
  if (!all_direct) vectors.leave_stage(steps);
}

}  // namespace bp
