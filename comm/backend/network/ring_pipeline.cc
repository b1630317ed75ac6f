// The ring, in segments. All three collectives are one pipeline (run_pipeline): messages are
// numbered i = step * segments + segment, and what a rank sends as number i + segments is what it
// has received as number i. So the loop waits for message i, reduces it, posts the next receive,
// posts the next send:
//
//   receives posted   i ... i + kWindow - 1     the wire never waits for this rank
//   sends posted      ... i + ahead - 1         ahead <= segments, so these data have arrived
//
// The collectives differ in where a message lies and in what becomes of it once it has arrived.
#include <algorithm>
#include <deque>

#include "comm/backend/network/algorithms.h"
#include "comm/reduce/reduce.h"
#include "comm/schedule/ring.h"
#include "comm/schedule/segments.h"

namespace bp {
namespace {

// Receives in flight: three on the wire while a fourth is reduced.
constexpr int kWindow = 4;
// Sends ahead of the receive that the loop waits for. The peer has posted receives for these, so
// the transport can write them at once and on this thread.
constexpr int kAhead = 3;

// The sends of one call, in the order in which they were posted.
class Sends {
 public:
  explicit Sends(CollectiveCall& call) : call_(call) {}
  void post(int peer, std::span<const std::byte> from) {
    pending_.push_back(call_.send(peer, from));
  }
  void skip() { pending_.emplace_back(); }  // takes a number, and sends nothing
  // Waits until send number `i`, counted from 0, and all before it are complete.
  void wait_through(int i) {
    for (; done_ <= i; ++done_) {
      call_.wait(pending_.front());
      pending_.pop_front();
    }
  }
  void wait_all() { wait_through(done_ + static_cast<int>(pending_.size()) - 1); }

 private:
  CollectiveCall& call_;
  std::deque<CollectiveCall::Message> pending_;
  int done_ = 0;
};

struct Cut {
  std::size_t element = 1;  // bytes
  int segments = 1;         // of each block
  std::size_t longest = 0;  // segment, in bytes

  [[nodiscard]] std::span<std::byte> bytes(std::byte* data, const Block& block) const {
    return {data + block.offset * element, block.count * element};
  }
};

Cut cut(DataType type, std::size_t longest_block, const SegmentLimits& limits) {
  const std::size_t element = size_of(type);
  const int segments = segment_count(longest_block * element, limits);
  const Block longest = segment_of({.count = longest_block}, segments, 0);
  return {.element = element, .segments = segments, .longest = longest.count * element};
}

// How many messages a pipeline has, and which memory they use again: receive number
// i >= first_reuse overwrites what leaves as send number i - reuse, so that send must be complete.
struct Plan {
  int segments = 1;
  int messages = 0;
  int first_reuse = 0;
  int reuse = 0;
};

// `received_at(i)` and `sent_from(i)`: the bytes of message i. `arrived(i)`: message i has arrived.
template <class ReceivedAt, class SentFrom, class Arrived>
void run_pipeline(CollectiveCall& call,
                  const Plan& plan,
                  const ReceivedAt& received_at,
                  const SentFrom& sent_from,
                  const Arrived& arrived) {
  const Ring ring(call.rank(), call.size());
  std::deque<CollectiveCall::Message> receives;
  Sends sends(call);
  // An empty segment does not travel, except for the first of its block, through which every rank
  // hears from every other one.
  const auto travels = [&](std::span<const std::byte> bytes, int i) {
    return !bytes.empty() || i % plan.segments == 0;
  };
  const auto post_receive = [&](int i) {
    const std::span<std::byte> into = received_at(i);
    if (!travels(into, i)) {
      receives.emplace_back();
      return;
    }
    if (i >= plan.first_reuse) sends.wait_through(i - plan.reuse);
    receives.push_back(call.receive(ring.previous(), into));
  };
  const auto post_send = [&](int i) {
    const std::span<const std::byte> from = sent_from(i);
    if (travels(from, i)) {
      sends.post(ring.next(), from);
    } else {
      sends.skip();
    }
  };

  int posted = 0;
  for (; posted < std::min({kWindow, plan.first_reuse, plan.messages}); ++posted) {
    post_receive(posted);
  }
  const int ahead = std::min(kAhead, plan.segments);
  for (int i = 0; i < ahead; ++i) post_send(i);
  for (int i = 0; i < plan.messages; ++i) {
    call.wait(receives.front());
    receives.pop_front();
    arrived(i);
    // As far as the window reaches, but not past a receive whose memory has yet to be sent.
    const int reusable = std::max(plan.first_reuse, i + ahead + plan.reuse);
    const int end = std::min({i + kWindow + 1, reusable, plan.messages});
    for (; posted < end; ++posted) post_receive(posted);
    if (i + ahead < plan.messages) post_send(i + ahead);
  }
  sends.wait_all();
}

}  // namespace

void ring_all_reduce(CollectiveCall& call, View data, ReduceOp op, const SegmentLimits& limits) {
  const Ring ring(call.rank(), call.size());
  const int ranks = call.size();
  const Cut cuts = cut(data.type, block_of(data.count, ranks, 0).count, limits);
  const int n = cuts.segments;
  const int reducing = ring.reduce_scatter_steps() * n;  // messages that are reduced
  const auto segment = [&](int block, int s) {
    return cuts.bytes(data.data, segment_of(block_of(data.count, ranks, block), n, s));
  };
  // Where a message belongs in `data`.
  const auto target = [&](int i) {
    return segment(ring.all_reduce_step(i / n).receive_block, i % n);
  };
  const std::span<std::byte> scratch = call.scratch(kWindow * cuts.longest);
  const auto landing = [&](int i) {
    return scratch.subspan(static_cast<std::size_t>(i % kWindow) * cuts.longest);
  };
  call.expect(2 * data.bytes() - 2 * data.bytes() / static_cast<std::size_t>(ranks));
  run_pipeline(
      call,
      {.segments = n,
       .messages = ring.all_reduce_steps() * n,
       .first_reuse = reducing,
       .reuse = reducing},
      // What is gathered is received in place, over what was sent to be reduced.
      [&](int i) { return i < reducing ? landing(i).first(target(i).size()) : target(i); },
      [&](int i) { return segment(ring.all_reduce_step(i / n).send_block, i % n); },
      [&](int i) {
        if (i >= reducing) return;
        const std::span<std::byte> into = target(i);
        const std::size_t count = into.size() / cuts.element;
        reduce(data.type, op, into.data(), landing(i).data(), count);
        const bool is_whole = i / n == ring.reduce_scatter_steps() - 1;
        if (is_whole && op == ReduceOp::average) {
          finish_average(data.type, into.data(), count, ranks);
        }
      });
}

void ring_reduce_scatter(CollectiveCall& call,
                         ConstView input,
                         View output,
                         std::span<const std::size_t> counts,
                         ReduceOp op,
                         const SegmentLimits& limits) {
  const Ring ring(call.rank(), call.size());
  const Cut cuts = cut(input.type, *std::max_element(counts.begin(), counts.end()), limits);
  const int n = cuts.segments;
  const int messages = ring.reduce_scatter_steps() * n;
  const auto segment = [&](int block, int s) {
    return segment_of(gathered_block(counts, block), n, s);
  };
  // A message is reduced where it lies and sent on from there. There are two rows of segments: one
  // is filled while the other leaves.
  const int rows = 2 * n;
  const std::span<std::byte> scratch = call.scratch(static_cast<std::size_t>(rows) * cuts.longest);
  const auto slot = [&](int i, const Block& block) {
    return scratch.subspan(static_cast<std::size_t>(i % rows) * cuts.longest,
                           block.count * cuts.element);
  };
  const auto own_data = [&](const Block& block) {
    return std::span(input.data + block.offset * cuts.element, block.count * cuts.element);
  };
  call.expect(input.bytes() - output.bytes());
  run_pipeline(
      call, {.segments = n, .messages = messages, .first_reuse = rows, .reuse = n},
      [&](int i) { return slot(i, segment(ring.reduce_scatter_step(i / n).receive_block, i % n)); },
      [&](int i) {
        const Block from = segment(ring.reduce_scatter_step(i / n).send_block, i % n);
        return i < n ? own_data(from) : std::span<const std::byte>(slot(i - n, from));
      },
      [&](int i) {
        const bool is_last = i / n == ring.reduce_scatter_steps() - 1;
        const int block = ring.reduce_scatter_step(i / n).receive_block;
        const Block to = segment(block, i % n);
        const std::size_t inside = to.offset - gathered_block(counts, block).offset;
        std::byte* const received = slot(i, to).data();
        std::byte* const into = is_last ? output.data + inside * cuts.element : received;
        reduce_to(input.type, op, into, own_data(to).data(), received, to.count);
        if (is_last && op == ReduceOp::average) {
          finish_average(input.type, into, to.count, call.size());
        }
      });
}

void ring_all_gather(CollectiveCall& call,
                     View data,
                     std::span<const std::size_t> counts,
                     const SegmentLimits& limits) {
  const Ring ring(call.rank(), call.size());
  const Cut cuts = cut(data.type, *std::max_element(counts.begin(), counts.end()), limits);
  const int n = cuts.segments;
  const int messages = ring.all_gather_steps() * n;
  const auto segment = [&](int block, int s) {
    return cuts.bytes(data.data, segment_of(gathered_block(counts, block), n, s));
  };
  call.expect(data.bytes() - counts[static_cast<std::size_t>(call.rank())] * cuts.element);
  run_pipeline(
      call,
      {.segments = n, .messages = messages, .first_reuse = messages},  // no memory is used again
      [&](int i) { return segment(ring.all_gather_step(i / n).receive_block, i % n); },
      [&](int i) { return segment(ring.all_gather_step(i / n).send_block, i % n); }, [](int) {});
}

}  // namespace bp
