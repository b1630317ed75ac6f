#include "tests/ranks/operations.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <set>
#include <utility>

#include "bp/collective.h"
#include "tests/ranks/exact.h"
#include "tests/support/types.h"

namespace bp::test {
namespace {

using Counts = std::vector<std::size_t>;

std::set<int> some_roots(const Communicator& comm) { return {0, comm.size() / 2, comm.size() - 1}; }

// Returns the block that `from` sends to `to`. No two blocks are equal.
template <class T>
std::vector<T> block(int from, int to, std::size_t count) {
  std::vector<T> data(count);
  for (std::size_t j = 0; j < count; ++j) {
    data[j] = encode<T>(value_at(from, j + static_cast<std::size_t>(to) * 11, ReduceOp::sum));
  }
  return data;
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

template <class T>
std::string check_reduce(Communicator& comm, std::size_t count) {
  for (const ReduceOp op : kReduceOps) {
    if (!can_reduce(op, kDataTypeOf<T>)) continue;
    for (const int root : some_roots(comm)) {
      const auto own = input_of<T>(comm.rank(), count, op);
      auto data = own;
      reduce(comm, view(data), {.op = op, .root = root});
      const bool is_root = comm.rank() == root;
      const auto wrong = differences(data, is_root ? reduction<T>(0, count, op, comm.size()) : own);
      if (!wrong.empty()) return concat("reduce ", name_of(op), " to ", root, ": ", wrong);
    }
  }
  return "";
}

Counts uneven_counts(int ranks, std::size_t count) {
  Counts counts;
  for (int r = 0; r < ranks; ++r) {
    counts.push_back(r % 3 == 1 ? 0 : count + static_cast<std::size_t>(r));
  }
  return counts;
}

template <class T>
std::string check_gather_and_scatter(Communicator& comm, const Counts& counts, bool uneven) {
  const std::size_t own = counts[static_cast<std::size_t>(comm.rank())];
  for (const int root : some_roots(comm)) {
    std::vector<T> all;
    for (int r = 0; r < comm.size(); ++r) {
      append(all, block<T>(r, root, counts[static_cast<std::size_t>(r)]));
    }
    const bool is_root = comm.rank() == root;
    const auto mine = block<T>(comm.rank(), root, own);
    std::vector<T> gathered(is_root ? all.size() : 0);
    uneven ? gather_v(comm, const_view(mine), view(gathered), counts, {.root = root})
           : gather(comm, const_view(mine), view(gathered), {.root = root});
    auto wrong = differences(gathered, is_root ? all : std::vector<T>());
    if (!wrong.empty()) return concat("gather to ", root, ": ", wrong);

    std::vector<T> part(own);
    uneven ? scatter_v(comm, const_view(gathered), view(part), counts, {.root = root})
           : scatter(comm, const_view(gathered), view(part), {.root = root});
    wrong = differences(part, mine);
    if (!wrong.empty()) return concat("scatter from ", root, ": ", wrong);
  }
  return "";
}

template <class T>
std::string check_all_to_all(Communicator& comm, std::size_t count) {
  std::vector<T> input;
  std::vector<T> wanted;
  std::vector<T> input_v;
  std::vector<T> wanted_v;
  Counts send;
  Counts receive;
  const auto count_of = [&](int from, int to) {
    return static_cast<std::size_t>(from * 3 + to) % 4 * count / 2;
  };
  for (int r = 0; r < comm.size(); ++r) {
    append(input, block<T>(comm.rank(), r, count));
    append(wanted, block<T>(r, comm.rank(), count));
    send.push_back(count_of(comm.rank(), r));
    receive.push_back(count_of(r, comm.rank()));
    append(input_v, block<T>(comm.rank(), r, send.back()));
    append(wanted_v, block<T>(r, comm.rank(), receive.back()));
  }
  std::vector<T> output(wanted.size());
  all_to_all(comm, const_view(input), view(output));
  auto wrong = differences(output, wanted);
  if (!wrong.empty()) return concat("all_to_all: ", wrong);
  std::vector<T> output_v(wanted_v.size());
  all_to_all_v(comm, const_view(input_v), view(output_v), {.send = send, .receive = receive});
  wrong = differences(output_v, wanted_v);
  return wrong.empty() ? "" : concat("all_to_all_v: ", wrong);
}

// Each rank sends to the next and receives from the previous one. Rank 0 also sends another message
// to rank P-1.
template <class T>
std::string check_messages(Communicator& comm, std::size_t count) {
  const int ranks = comm.size();
  if (ranks == 1) return "";
  const int next = (comm.rank() + 1) % ranks;
  const int previous = (comm.rank() + ranks - 1) % ranks;
  const auto out = block<T>(comm.rank(), next, count);
  std::vector<T> in(count);
  if (comm.rank() == 0) {  // breaks the cycle
    send(comm, const_view(out), next, {.name = "round"});
    receive(comm, view(in), previous, {.name = "round"});
  } else {
    receive(comm, view(in), previous, {.name = "round"});
    send(comm, const_view(out), next, {.name = "round"});
  }
  auto wrong = differences(in, block<T>(previous, comm.rank(), count));
  if (!wrong.empty()) return concat("message around: ", wrong);

  std::vector<T> first(count);
  std::vector<T> second(count + 1);
  if (comm.rank() == 0) {
    Work one = send_async(comm, const_view(out), ranks - 1);
    const auto more = block<T>(0, 7, count + 1);
    Work two = send_async(comm, const_view(more), ranks - 1);
    one.wait();
    two.wait();
  } else if (comm.rank() == ranks - 1) {
    Work one = receive_async(comm, view(first), 0);
    receive(comm, view(second), 0);
    one.wait();
    wrong = differences(first, block<T>(0, 1, count));
    if (wrong.empty()) wrong = differences(second, block<T>(0, 7, count + 1));
  }
  return wrong.empty() ? "" : concat("two messages: ", wrong);
}

template <class T>
std::string check_operations_on(Communicator& comm, std::size_t segment_bytes) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const std::size_t segment = segment_bytes / sizeof(T);
  for (const std::size_t count : std::set<std::size_t>{0, 1, ranks + 1, 97, segment * 5 + 3}) {
    std::string wrong = check_reduce<T>(comm, count);
    const Counts even(ranks, count);
    if (wrong.empty()) wrong = check_gather_and_scatter<T>(comm, even, false);
    const Counts uneven = uneven_counts(comm.size(), count);
    if (wrong.empty()) wrong = check_gather_and_scatter<T>(comm, uneven, true);
    if (wrong.empty()) wrong = check_all_to_all<T>(comm, count);
    if (wrong.empty()) wrong = check_messages<T>(comm, count);
    if (!wrong.empty()) return concat(name_of(kDataTypeOf<T>), " x ", count, ": ", wrong);
  }
  return "";
}

}  // namespace

std::string check_all_operations(Communicator& comm, std::size_t segment_bytes) {
  std::string wrong;
  for_each_type([&]<class T>(std::type_identity<T>) {
    if (wrong.empty()) wrong = check_operations_on<T>(comm, segment_bytes);
  });
  return wrong;
}

std::string check_main_operations(Communicator& comm, std::size_t segment_bytes) {
  const std::string wrong = check_operations_on<BFloat16>(comm, segment_bytes);
  return wrong.empty() ? check_operations_on<double>(comm, segment_bytes) : wrong;
}

std::string check_allocated(Communicator& comm, int own, std::size_t count) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const auto bytes = count * ranks * sizeof(std::int32_t);
  Buffer buffer = comm.allocate(bytes);
  std::vector<std::int32_t> elsewhere(count * ranks);
  const std::span<std::int32_t> input =
      comm.rank() < own ? std::span(reinterpret_cast<std::int32_t*>(buffer.data()), count * ranks)
                        : std::span(elsewhere);
  for (int root = 0; root < comm.size(); ++root) {
    std::vector<std::int32_t> wanted;
    for (int to = 0; to < comm.size(); ++to) {
      std::ranges::copy(block<std::int32_t>(comm.rank(), to, count),
                        input.begin() + static_cast<std::ptrdiff_t>(count) * to);
      append(wanted, block<std::int32_t>(to, comm.rank(), count));
    }
    std::vector<std::int32_t> output(count * ranks);
    all_to_all(comm, view(input), view(output));
    if (output != wanted) return "all_to_all";
    std::vector<std::int32_t> part(count);
    scatter(comm, view(input), view(part), {.root = root});
    if (part != block<std::int32_t>(root, comm.rank(), count)) return "scatter";
    const View sum = view(input.first(count));
    reduce(comm, sum, {.op = ReduceOp::max, .root = root});
    for (std::size_t j = 0; comm.rank() == root && j < count; ++j) {
      std::int32_t most = 0;
      for (int r = 0; r < comm.size(); ++r) {
        most = std::max(most, static_cast<std::int32_t>(value_at(r, j, ReduceOp::max)));
      }
      if (input[j] != most) return concat("reduce to ", root, " at ", j);
    }
  }
  return "";
}

}  // namespace bp::test
