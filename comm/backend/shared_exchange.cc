#include "comm/backend/exchange.h"
#include "comm/backend/shared.h"
#include "comm/backend/shared_parts.h"
#include "comm/reduce/copy.h"

namespace bp {

// Each rank shows its input, and copies what is for it out of the others'. On the stage lies the
// same piece of every block, one after another.
void SharedBackend::exchange(CollectiveCall& call,
                             const Exchange& exchange,
                             std::size_t input_bytes) {
  const std::size_t room = enter_stage(exchange.longest, static_cast<std::size_t>(exchange.pieces));
  const auto piece = [&](int sender, int receiver, std::size_t step) {
    const int index = exchange.pieces == 1 ? 0 : receiver;
    return stage(sender, step) + static_cast<std::size_t>(index) * room;
  };
  const bool shown = host_->own().offset_of(exchange.input, input_bytes).has_value();
  const auto show = [&](std::size_t step) {
    const std::size_t begin = step * room;
    for (int peer = 0; peer < size() && !shown; ++peer) {
      const Block& block = exchange.send[static_cast<std::size_t>(peer)];
      if (peer == rank_ || begin >= block.count) continue;
      hand_over(piece(rank_, peer, step), exchange.input + block.offset + begin,
                std::min(room, block.count - begin));
    }
  };
  call.expect(exchange.received_bytes(rank_));
  show(0);
  meet_with(call, exchange.input, input_bytes);
  copy_own_block(exchange, rank_);
  bool direct = true;  // whoever has something shows it where it is
  for (int peer = 0; peer < size(); ++peer) {
    direct = direct && (is_shown(peer) || !exchange.gives[static_cast<std::size_t>(peer)]);
  }
  const std::size_t a_step = direct ? std::max(exchange.longest, std::size_t{1}) : room;
  const std::size_t steps = steps_of(exchange.longest, a_step);
  for (std::size_t step = 0; step < steps; ++step) {
    const std::size_t begin = step * a_step;
    for (int peer = 0; peer < size(); ++peer) {
      const Block& block = exchange.receive[static_cast<std::size_t>(peer)];
      if (peer == rank_ || begin >= block.count) continue;
      const std::size_t length = std::min(a_step, block.count - begin);
      const std::size_t source = exchange.source[static_cast<std::size_t>(peer)].offset;
      copy_bytes(exchange.output + block.offset + begin,
                 is_shown(peer) ? part(peer, source + begin, step) : piece(peer, rank_, step),
                 length);
      call.count(length);
    }
    show(step + 1);
    meet(call);
  }
  if (!direct) leave_stage(steps);
}

}  // namespace bp
