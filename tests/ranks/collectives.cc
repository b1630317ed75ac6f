#include "tests/ranks/collectives.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "base/text.h"
#include "bp/collective.h"
#include "tests/ranks/exact.h"
#include "tests/support/types.h"

namespace bp::test {
namespace {

// Returns blocks of very different lengths that add up to `count`. One in three of them is empty,
// except the last.
std::vector<std::size_t> uneven_cut(std::size_t count, int ranks) {
  std::vector<std::size_t> counts;
  for (int r = 0; r < ranks; ++r) {
    const bool is_last = r == ranks - 1;
    counts.push_back(is_last ? count : r % 3 == 1 ? 0 : count / 2);
    count -= counts.back();
  }
  return counts;
}

template <class T>
std::string check_reductions(Communicator& comm, std::size_t count) {
  for (const ReduceOp op : kReduceOps) {
    if (!can_reduce(op, kDataTypeOf<T>)) continue;
    const auto input = input_of<T>(comm.rank(), count, op);
    auto data = input;
    all_reduce(comm, view(data), {.op = op});
    std::string wrong = differences(data, reduction<T>(0, count, op, comm.size()));
    if (!wrong.empty()) return concat("all_reduce ", name_of(op), ": ", wrong);

    const Block own = block_of(count, comm.size(), comm.rank());
    std::vector<T> part(own.count);
    reduce_scatter(comm, const_view(input), view(part), {.op = op});
    wrong = differences(part, reduction<T>(own.offset, own.count, op, comm.size()));
    if (!wrong.empty()) return concat("reduce_scatter ", name_of(op), ": ", wrong);

    const auto counts = uneven_cut(count, comm.size());
    const auto rank = counts.begin() + comm.rank();
    std::vector<T> uneven(*rank);
    reduce_scatter_v(comm, const_view(input), view(uneven), counts, {.op = op});
    const std::size_t offset = std::accumulate(counts.begin(), rank, std::size_t{0});
    wrong = differences(uneven, reduction<T>(offset, *rank, op, comm.size()));
    if (!wrong.empty()) return concat("reduce_scatter_v ", name_of(op), ": ", wrong);
  }
  return "";
}

template <class T>
std::string check_moves(Communicator& comm, std::size_t count) {
  for (const int root : std::set{0, comm.size() / 2, comm.size() - 1}) {
    auto data = input_of<T>(comm.rank(), count, ReduceOp::sum);
    broadcast(comm, view(data), {.root = root});
    const std::string wrong = differences(data, input_of<T>(root, count, ReduceOp::sum));
    if (!wrong.empty()) return concat("broadcast from ", root, ": ", wrong);
  }
  std::vector<T> even(count * static_cast<std::size_t>(comm.size()));
  all_gather(comm, const_view(input_of<T>(comm.rank(), count, ReduceOp::sum)), view(even));
  std::vector<T> wanted;
  std::vector<T> wanted_uneven;
  std::vector<std::size_t> counts;
  for (int r = 0; r < comm.size(); ++r) {
    const auto block = input_of<T>(r, count, ReduceOp::sum);
    wanted.insert(wanted.end(), block.begin(), block.end());
    counts.push_back(r % 3 == 1 ? 0 : count + static_cast<std::size_t>(r));
    const auto uneven = input_of<T>(r, counts.back(), ReduceOp::sum);
    wanted_uneven.insert(wanted_uneven.end(), uneven.begin(), uneven.end());
  }
  std::string wrong = differences(even, wanted);
  if (!wrong.empty()) return concat("all_gather: ", wrong);

  std::vector<T> uneven(wanted_uneven.size());
  const std::size_t own = counts[static_cast<std::size_t>(comm.rank())];
  all_gather_v(comm, const_view(input_of<T>(comm.rank(), own, ReduceOp::sum)), view(uneven),
               counts);
  wrong = differences(uneven, wanted_uneven);
  return wrong.empty() ? "" : concat("all_gather_v: ", wrong);
}

template <class T>
std::string check_type(Communicator& comm, std::size_t segment_bytes) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const std::size_t segment = segment_bytes / sizeof(T) * ranks;  // one segment per block
  const std::set<std::size_t> counts = {0,  1,           ranks - 1,   ranks,          ranks + 1,
                                        97, segment - 1, segment + 1, segment * 5 + 3};
  for (const std::size_t count : counts) {
    std::string wrong = check_reductions<T>(comm, count);
    if (wrong.empty()) wrong = check_moves<T>(comm, count);
    if (!wrong.empty()) return concat(name_of(kDataTypeOf<T>), " x ", count, ": ", wrong);
  }
  return "";
}

}  // namespace

std::string check_all_collectives(Communicator& comm, std::size_t segment_bytes) {
  barrier(comm);
  std::string wrong;
  for_each_type([&]<class T>(std::type_identity<T>) {
    if (wrong.empty()) wrong = check_type<T>(comm, segment_bytes);
  });
  return wrong;
}

std::string check_main_collectives(Communicator& comm, std::size_t segment_bytes) {
  barrier(comm);
  const std::string wrong = check_type<BFloat16>(comm, segment_bytes);
  return wrong.empty() ? check_type<float>(comm, segment_bytes) : wrong;
}

std::string check_bitwise_equality(Communicator& comm, std::size_t count) {
  for (const ReduceOp op : kReduceOps) {
    if (!can_reduce(op, DataType::f32)) continue;
    std::mt19937 random(static_cast<unsigned>(comm.rank()) + 1);
    std::normal_distribution<float> normal;
    std::vector<float> data(count);
    for (float& x : data) x = normal(random);
    all_reduce(comm, view(data), {.op = op});
    auto roots = data;
    broadcast(comm, view(roots));
    if (const auto wrong = differences(data, roots); !wrong.empty()) {
      return concat(name_of(op), " differs from rank 0's: ", wrong);
    }
  }
  return "";
}

std::string check_many_async(Communicator& comm) {
  constexpr int kOperations = 1000;
  std::vector<std::int64_t> data(kOperations);
  std::vector<Work> works;
  for (int i = 0; i < kOperations; ++i) {
    data[static_cast<std::size_t>(i)] = i + comm.rank();
    works.push_back(
        all_reduce_async(comm, view(std::span(data).subspan(static_cast<std::size_t>(i), 1))));
  }
  const std::int64_t ranks = comm.size();
  for (int i = 0; i < kOperations; ++i) {
    works[static_cast<std::size_t>(i)].wait();
    if (data[static_cast<std::size_t>(i)] != i * ranks + ranks * (ranks - 1) / 2) {
      return concat("operation ", i, " is wrong");
    }
  }
  return comm.counters().operations >= kOperations ? "" : "not all were counted";
}

std::string check_split(Communicator& comm) {
  Communicator group = comm.split(comm.rank() % 3 == 0 ? 1 : -7);
  std::vector<int> wanted;
  for (int r = 0; r < comm.size(); ++r) {
    if ((r % 3 == 0) == (comm.rank() % 3 == 0)) wanted.push_back(r);
  }
  std::vector<int> members(static_cast<std::size_t>(group.size()));
  const int own = comm.rank();
  all_gather(group, const_view(std::span(&own, 1)), view(members));
  if (members != wanted) return "the group has wrong members";

  Communicator again = group.split(0);
  std::vector<int> sum = {comm.rank(), 1};
  Work in_world = all_reduce_async(comm, view(sum), {.name = "world meanwhile"});
  std::vector<int> group_sum = {comm.rank(), 1};
  all_reduce(again, view(group_sum));
  in_world.wait();
  const int total = std::accumulate(wanted.begin(), wanted.end(), 0);
  if (group_sum != std::vector{total, static_cast<int>(wanted.size())}) return "wrong group sum";
  if (sum != std::vector{comm.size() * (comm.size() - 1) / 2, comm.size()}) return "wrong sum";
  return again.topology().size() == again.size() ? "" : "the topology is not the group's";
}

}  // namespace bp::test
