#include "comm/backend/network/exchange.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "comm/backend/network/algorithms.h"
#include "comm/schedule/pairwise.h"

namespace bp {
namespace {

using Kind = Operation::Kind;

std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

// Sets the blocks of these counts, which lie one after another. Their fields are bytes.
void set_blocks(std::vector<Block>& blocks,
                std::span<const std::size_t> counts,
                std::size_t element) {
  blocks.clear();
  std::size_t offset = 0;
  for (const std::size_t count : counts) {
    blocks.push_back({.offset = offset, .count = count * element});
    offset += count * element;
  }
}

// Returns that of one rank.
Block block_in(std::span<const std::size_t> counts, std::size_t element, int rank) {
  const auto before = counts.first(at(rank));
  return {.offset = std::accumulate(before.begin(), before.end(), std::size_t{0}) * element,
          .count = counts[at(rank)] * element};
}

// One message each way, in flight at the same time. -1: none, because the block is empty.
struct Flight {
  int to = -1;
  Block out;
  int from = -1;
  Block in;
};

void add_flights(std::vector<Flight>& flights, const Flight& pair, const SegmentLimits& limits) {
  const int sends = pair.to < 0 || pair.out.count == 0 ? 0 : segment_count(pair.out.count, limits);
  const int receives =
      pair.from < 0 || pair.in.count == 0 ? 0 : segment_count(pair.in.count, limits);
  for (int s = 0; s < std::max(sends, receives); ++s) {
    Flight flight;
    if (s < sends) flight = {pair.to, segment_of(pair.out, sends, s), -1, {}};
    if (s < receives) {
      flight.from = pair.from;
      flight.in = segment_of(pair.in, receives, s);
    }
    flights.push_back(flight);
  }
}

// Never waits for a flight before all earlier ones are over. So the rank that is furthest behind
// finds its partners' messages posted, and ranks never wait in a circle.
void carry_out(CollectiveCall& call,
               const std::vector<Flight>& flights,
               const std::byte* input,
               std::byte* output) {
  constexpr std::size_t kWindow = 4;  // flights at a time
  std::vector<std::pair<CollectiveCall::Message, CollectiveCall::Message>> messages(flights.size());
  std::size_t posted = 0;
  for (std::size_t i = 0; i < flights.size(); ++i) {
    for (; posted < std::min(i + kWindow, flights.size()); ++posted) {
      const auto& [to, out, from, in] = flights[posted];
      auto& [incoming, outgoing] = messages[posted];
      if (from >= 0) incoming = call.receive(from, {output + in.offset, in.count});
      if (to >= 0) outgoing = call.send(to, {input + out.offset, out.count});
    }
    call.wait(messages[i].first);
    call.wait(messages[i].second);
  }
}

}  // namespace

std::size_t Exchange::received_bytes(int rank) const {
  std::size_t bytes = 0;
  for (const Block& block : receive) bytes += block.count;
  return bytes - receive[at(rank)].count;
}

std::size_t Exchange::output_bytes() const {
  std::size_t bytes = 0;
  for (const Block& block : receive) bytes = std::max(bytes, block.offset + block.count);
  return bytes;
}

void Exchange::fill(const Operation& operation, int rank, int ranks, const CountTable& table) {
  input = operation.input.data;
  output = operation.output.data;
  gather_root = operation.kind == Kind::gather ? operation.root : -1;
  scatter_root = operation.kind == Kind::scatter ? operation.root : -1;
  pieces = gather_root >= 0 ? 1 : ranks;
  const std::size_t element = size_of(operation.whole().type);
  const auto sum_of = [&](std::span<const std::size_t> counts) {
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0}) * element;
  };
  const auto longest_of = [&](std::span<const std::size_t> counts) {
    return *std::ranges::max_element(counts) * element;
  };
  const std::span<const std::size_t> counts = operation.counts;
  longest = longest_of(table.empty() ? counts : table);
  all_bytes = sum_of(table.empty() ? counts : table);
  gives.assign(at(ranks), operation.kind != Kind::scatter);
  for (std::vector<Block>* blocks : {&send, &receive, &source}) blocks->assign(at(ranks), {});
  switch (operation.kind) {
    case Kind::gather:
      gives[at(operation.root)] = false;
      gathered = block_in(counts, element, rank);
      send[at(operation.root)] = {.count = gathered.count};
      if (rank == operation.root) set_blocks(receive, counts, element);
      break;
    case Kind::scatter:
      gives[at(operation.root)] = true;
      if (rank == operation.root) set_blocks(send, counts, element);
      receive[at(operation.root)] = {.count = counts[at(rank)] * element};
      source[at(operation.root)] = block_in(counts, element, rank);
      break;
    case Kind::all_to_all:
      all_bytes *= at(ranks);
      set_blocks(send, counts, element);
      set_blocks(receive, counts, element);
      std::ranges::fill(source, send[at(rank)]);
      break;
    default:
      set_blocks(send, counts, element);
      set_blocks(receive, operation.receive_counts, element);
      for (int peer = 0; peer < ranks; ++peer) {
        const auto theirs = std::span(table).subspan(at(peer * ranks), at(ranks));
        source[at(peer)] = block_in(theirs, element, rank);
        gives[at(peer)] = longest_of(theirs) > 0;
      }
      break;
  }
}

CountTable agree_on_counts(const Operation& operation,
                           CollectiveCall& call,
                           const std::function<void(const Operation&)>& all_gather) {
  const std::size_t ranks = at(call.size());
  std::vector<std::int64_t> both(2 * ranks *
                                 ranks);  // of each rank: what it sends, then what it expects
  auto* const own = both.data() + 2 * ranks * at(call.rank());
  std::ranges::copy(operation.counts, own);
  std::ranges::copy(operation.receive_counts, own + ranks);
  Operation gather;
  gather.kind = Kind::all_gather;
  gather.output = view(both);
  gather.input = view(std::span(own, 2 * ranks));
  gather.counts.assign(ranks, 2 * ranks);
  all_gather(gather);
  CountTable table(ranks * ranks);
  for (std::size_t from = 0; from < ranks; ++from) {
    for (std::size_t to = 0; to < ranks; ++to) {
      const auto sent = both[2 * ranks * from + to];
      const auto expected = both[2 * ranks * to + ranks + from];
      if (sent != expected) {
        call.disagree(concat("ranks disagree in ", describe(operation), ": rank ", from, " sends ",
                             sent, " elements to rank ", to, ", which expects ", expected));
      }
      if (sent < 0) {
        call.disagree(concat("in ", describe(operation), " rank ", from, " sends ", sent,
                             " elements to rank ", to,
                             ", which cannot be (do all ranks run the same version of bp?)"));
      }
      table[from * ranks + to] = static_cast<std::size_t>(sent);
    }
  }
  return table;
}

void copy_own_block(const Exchange& exchange, int rank) {
  const Block& from = exchange.send[at(rank)];
  std::byte* const to = exchange.output + exchange.receive[at(rank)].offset;
  if (from.count > 0 && exchange.input + from.offset != to) {
    std::memmove(to, exchange.input + from.offset, from.count);
  }
}

void pairwise_exchange(CollectiveCall& call,
                       const Exchange& exchange,
                       const SegmentLimits& limits) {
  const Pairwise pairs(call.rank(), call.size());
  std::vector<Flight> flights;
  for (int step = 1; step <= pairs.steps(); ++step) {
    const int to = pairs.send_to(step);
    const int from = pairs.receive_from(step);
    add_flights(flights, {to, exchange.send[at(to)], from, exchange.receive[at(from)]}, limits);
  }
  Barrier barrier(call);
  call.expect(exchange.received_bytes(call.rank()));
  copy_own_block(exchange, call.rank());
  carry_out(call, flights, exchange.input, exchange.output);
  barrier.finish();
}

}  // namespace bp
