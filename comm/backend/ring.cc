// The ring, in segments. All messages to receive are numbered i = step * segments + segment; what
// is sent as number i + segments is what was received as number i. So the loop is: wait for i,
// reduce it, post the next receive, post the next send:
//
//   receives posted   i ... i + kWindow - 1     the wire never waits for us
//   sends posted      ... i + ahead - 1         no more than segments: those are there by then
#include "comm/schedule/ring.h"

#include <algorithm>
#include <deque>
#include <numeric>

#include "comm/backend/algorithms.h"
#include "comm/reduce/reduce.h"
#include "comm/schedule/segments.h"

namespace bp {
namespace {

// Receives in flight: three on the wire while a fourth is reduced.
constexpr int kWindow = 4;
// Sends before the receive that is waited for: those that the peer has posted a receive for, so the
// transport can write them at once and on our thread.
constexpr int kAhead = 3;

// The sends of one call, in the order in which they were posted.
class Sends {
 public:
  explicit Sends(CollectiveCall& call) : call_(call) {}
  void post(int peer, std::span<const std::byte> from) {
    pending_.push_back(call_.send(peer, from));
  }
  void skip() { pending_.emplace_back(); }  // counted, not sent
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

// An empty segment is not sent, but for the first of a block: every rank hears from every other,
// by way of those between.
bool travels(const Block& segment, int s) { return segment.count > 0 || s == 0; }

struct Cut {
  std::size_t element = 1;  // bytes
  int segments = 1;         // a block
  std::size_t longest = 0;  // segment, in bytes

  [[nodiscard]] std::span<std::byte> bytes(std::byte* data, const Block& block) const {
    return {data + block.offset * element, block.count * element};
  }
};

Cut cut(DataType type, std::size_t longest_block, const SegmentLimits& limits) {
  const std::size_t element = size_of(type);
  const int segments = segment_count(longest_block * element, limits);
  return {element, segments, segment_of({0, longest_block}, segments, 0).count * element};
}

}  // namespace

void ring_all_reduce(CollectiveCall& call, View data, ReduceOp op, const SegmentLimits& limits) {
  const Ring ring(call.rank(), call.size());
  const int ranks = call.size();
  const Cut cuts = cut(data.type, block_of(data.count, ranks, 0).count, limits);
  const int n = cuts.segments;
  const int reducing = ring.reduce_scatter_steps() * n;  // messages that are reduced
  const int total = ring.all_reduce_steps() * n;
  const auto segment = [&](int block, int s) {
    return segment_of(block_of(data.count, ranks, block), n, s);
  };
  const std::span<std::byte> scratch = call.scratch(kWindow * cuts.longest);
  const auto landing = [&](int i) {
    return scratch.subspan(static_cast<std::size_t>(i % kWindow) * cuts.longest);
  };

  std::deque<CollectiveCall::Message> receives;
  Sends sends(call);
  const auto post_receive = [&](int i) {
    const Block to = segment(ring.all_reduce_step(i / n).receive_block, i % n);
    if (!travels(to, i % n)) {
      receives.emplace_back();
    } else if (i < reducing) {
      receives.push_back(call.receive(ring.previous(), landing(i).first(to.count * cuts.element)));
    } else {
      // In place, over what was sent as number i - reducing: that must have left.
      sends.wait_through(i - reducing);
      receives.push_back(call.receive(ring.previous(), cuts.bytes(data.data, to)));
    }
  };
  const auto post_send = [&](int i) {
    const Block from = segment(ring.all_reduce_step(i / n).send_block, i % n);
    travels(from, i % n) ? sends.post(ring.next(), cuts.bytes(data.data, from)) : sends.skip();
  };

  call.expect(2 * data.bytes() - 2 * data.bytes() / static_cast<std::size_t>(ranks));
  int posted = 0;
  for (; posted < std::min(kWindow, reducing); ++posted) post_receive(posted);
  const int ahead = std::min(kAhead, n);
  for (int i = 0; i < ahead; ++i) post_send(i);
  for (int i = 0; i < total; ++i) {
    call.wait(receives.front());
    receives.pop_front();
    if (i < reducing) {
      const Block to = segment(ring.all_reduce_step(i / n).receive_block, i % n);
      std::byte* const into = data.data + to.offset * cuts.element;
      reduce(data.type, op, into, landing(i).data(), to.count);
      const bool whole = i / n == ring.reduce_scatter_steps() - 1;
      if (whole && op == ReduceOp::average) finish_average(data.type, into, to.count, ranks);
    }
    // As far as the window reaches, and never past a receive whose place has yet to be sent.
    const int end = std::min({i + kWindow + 1, i + ahead + reducing, total});
    for (; posted < end; ++posted) post_receive(posted);
    if (i + ahead < total) post_send(i + ahead);
  }
  sends.wait_all();
}

void ring_reduce_scatter(CollectiveCall& call,
                         ConstView input,
                         View output,
                         std::span<const std::size_t> counts,
                         ReduceOp op,
                         const SegmentLimits& limits) {
  const Ring ring(call.rank(), call.size());
  const int ranks = call.size();
  const Cut cuts = cut(input.type, *std::max_element(counts.begin(), counts.end()), limits);
  const int n = cuts.segments;
  const int total = ring.reduce_scatter_steps() * n;
  const auto segment = [&](int block, int s) {
    return segment_of(gathered_block(counts, block), n, s);
  };
  // What arrives is reduced where it lies and sent on from there: two rows of segments, one being
  // filled while the other leaves.
  const int rows = 2 * n;
  const std::span<std::byte> scratch = call.scratch(static_cast<std::size_t>(rows) * cuts.longest);
  const auto place = [&](int i, const Block& block) {
    return scratch.subspan(static_cast<std::size_t>(i % rows) * cuts.longest,
                           block.count * cuts.element);
  };

  std::deque<CollectiveCall::Message> receives;
  Sends sends(call);
  const auto post_receive = [&](int i) {
    const Block to = segment(ring.reduce_scatter_step(i / n).receive_block, i % n);
    // Number i - rows lay here, and left as number i - n.
    if (i >= rows) sends.wait_through(i - n);
    travels(to, i % n) ? receives.push_back(call.receive(ring.previous(), place(i, to)))
                       : static_cast<void>(receives.emplace_back());
  };
  const auto post_send = [&](int i) {
    const Block from = segment(ring.reduce_scatter_step(i / n).send_block, i % n);
    if (!travels(from, i % n)) {
      sends.skip();
    } else if (i < n) {
      sends.post(ring.next(), {input.data + from.offset * cuts.element, from.count * cuts.element});
    } else {
      sends.post(ring.next(), place(i - n, from));
    }
  };

  call.expect(input.bytes() - output.bytes());
  int posted = 0;
  for (; posted < std::min({kWindow, rows, total}); ++posted) post_receive(posted);
  const int ahead = std::min(kAhead, n);
  for (int i = 0; i < ahead; ++i) post_send(i);
  for (int i = 0; i < total; ++i) {
    call.wait(receives.front());
    receives.pop_front();
    const bool last = i / n == ring.reduce_scatter_steps() - 1;
    const int block = ring.reduce_scatter_step(i / n).receive_block;
    const Block to = segment(block, i % n);
    const std::byte* const own = input.data + to.offset * cuts.element;
    std::byte* const arrived = place(i, to).data();
    const std::size_t inside = to.offset - gathered_block(counts, block).offset;
    std::byte* const into = last ? output.data + inside * cuts.element : arrived;
    reduce_to(input.type, op, into, own, arrived, to.count);
    if (last && op == ReduceOp::average) finish_average(input.type, into, to.count, ranks);
    const int end = std::min({i + kWindow + 1, i + rows, total});
    for (; posted < end; ++posted) post_receive(posted);
    if (i + ahead < total) post_send(i + ahead);
  }
  sends.wait_all();
}

Block gathered_block(std::span<const std::size_t> counts, int r) {
  const auto before = counts.first(static_cast<std::size_t>(r));
  return {std::accumulate(before.begin(), before.end(), std::size_t{0}),
          counts[static_cast<std::size_t>(r)]};
}

std::vector<std::size_t> even_counts(std::size_t count, int ranks) {
  std::vector<std::size_t> counts;
  for (int r = 0; r < ranks; ++r) counts.push_back(block_of(count, ranks, r).count);
  return counts;
}

void ring_all_gather(CollectiveCall& call,
                     View data,
                     std::span<const std::size_t> counts,
                     const SegmentLimits& limits) {
  const Ring ring(call.rank(), call.size());
  const Cut cuts = cut(data.type, *std::max_element(counts.begin(), counts.end()), limits);
  const int n = cuts.segments;
  const int total = ring.all_gather_steps() * n;
  const auto segment = [&](int block, int s) {
    return segment_of(gathered_block(counts, block), n, s);
  };

  std::deque<CollectiveCall::Message> receives;
  Sends sends(call);
  const auto post_receive = [&](int i) {
    const Block to = segment(ring.all_gather_step(i / n).receive_block, i % n);
    travels(to, i % n)
        ? receives.push_back(call.receive(ring.previous(), cuts.bytes(data.data, to)))
        : static_cast<void>(receives.emplace_back());
  };
  const auto post_send = [&](int i) {
    const Block from = segment(ring.all_gather_step(i / n).send_block, i % n);
    travels(from, i % n) ? sends.post(ring.next(), cuts.bytes(data.data, from)) : sends.skip();
  };

  call.expect(data.bytes() - counts[static_cast<std::size_t>(call.rank())] * cuts.element);
  int posted = 0;
  for (; posted < std::min(kWindow, total); ++posted) post_receive(posted);
  const int ahead = std::min(kAhead, n);
  for (int i = 0; i < ahead; ++i) post_send(i);
  for (int i = 0; i < total; ++i) {
    call.wait(receives.front());
    receives.pop_front();
    const int end = std::min(i + kWindow + 1, total);
    for (; posted < end; ++posted) post_receive(posted);
    if (i + ahead < total) post_send(i + ahead);
  }
  sends.wait_all();
}

}  // namespace bp
