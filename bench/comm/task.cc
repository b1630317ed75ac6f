#include "bench/comm/task.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "bp/collective.h"
#include "comm/reduce/halves.h"

namespace bp::bench {
namespace {

// The largest power of two up to which all whole numbers are exact; 2^8 for bytes, which wrap.
std::uint64_t exact_range(DataType type) {
  switch (type) {
    case DataType::u8:
    case DataType::i8:
    case DataType::bf16:
      return 256;
    case DataType::f16:
      return 2048;
    case DataType::f32:
    case DataType::i32:
      return std::uint64_t{1} << 24;
    case DataType::i64:
    case DataType::f64:
      return std::uint64_t{1} << 50;
  }
  return 1;
}

// Rank r's element j, below exact_range / ranks.
std::uint64_t element(DataType type, int r, int ranks, std::size_t j) {
  const auto share = std::max<std::uint64_t>(exact_range(type) / static_cast<unsigned>(ranks), 2);
  std::uint64_t x = (j + 1) * 0x9e3779b97f4a7c15U + static_cast<unsigned>(r) * 0xd1b54a32d192ed03U;
  x = (x ^ (x >> 31)) * 0xbf58476d1ce4e5b9U;
  return (x >> 13) % share;
}

template <class T>
T from_integer(std::uint64_t value) {
  if constexpr (std::is_same_v<T, Float16>) {
    return to_float16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return to_bfloat16(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

// value(j) in type T for j = first..first+count.
template <class T, class Value>
std::vector<std::byte> fill(std::size_t first, std::size_t count, const Value& value) {
  std::vector<std::byte> bytes(count * sizeof(T));
  for (std::size_t i = 0; i < count; ++i) {
    const T exact = from_integer<T>(value(first + i));
    std::memcpy(&bytes[i * sizeof(T)], &exact, sizeof(T));
  }
  return bytes;
}

template <class Value>
std::vector<std::byte> fill(DataType type,
                            std::size_t first,
                            std::size_t count,
                            const Value& value) {
  switch (type) {
    case DataType::u8:
      return fill<std::uint8_t>(first, count, value);
    case DataType::i8:
      return fill<std::int8_t>(first, count, value);
    case DataType::i32:
      return fill<std::int32_t>(first, count, value);
    case DataType::i64:
      return fill<std::int64_t>(first, count, value);
    case DataType::f16:
      return fill<Float16>(first, count, value);
    case DataType::bf16:
      return fill<BFloat16>(first, count, value);
    case DataType::f32:
      return fill<float>(first, count, value);
    case DataType::f64:
      return fill<double>(first, count, value);
  }
  return {};
}

double share_of_others(int ranks) { return (ranks - 1.0) / ranks; }

Task all_reduce_task(Communicator& comm, DataType type, std::size_t count) {
  Task task;
  task.bus_factor = 2 * share_of_others(comm.size());
  task.original = input_of(type, comm.rank(), comm.size(), 0, count);
  task.expected = sum_of_inputs(type, comm.size(), 0, count);
  task.input = comm.allocate(task.original.size());
  const View data{task.input.data(), count, type};
  task.run = [&comm, data] { all_reduce(comm, data, {.name = "comm_bench"}); };
  task.bytes = data.bytes();
  return task;
}

Task broadcast_task(Communicator& comm, DataType type, std::size_t count) {
  Task task;
  task.bus_factor = comm.size() > 1 ? 1 : 0;
  task.original = input_of(type, comm.rank(), comm.size(), 0, count);
  task.expected = input_of(type, 0, comm.size(), 0, count);
  task.input = comm.allocate(task.original.size());
  const View data{task.input.data(), count, type};
  task.run = [&comm, data] { broadcast(comm, data, {.name = "comm_bench"}); };
  task.bytes = data.bytes();
  return task;
}

Task reduce_scatter_task(Communicator& comm, DataType type, std::size_t count) {
  Task task;
  const Block block = block_of(count, comm.size(), comm.rank());
  task.bus_factor = share_of_others(comm.size());
  task.original = input_of(type, comm.rank(), comm.size(), 0, count);
  task.expected = sum_of_inputs(type, comm.size(), block.offset, block.count);
  task.input = comm.allocate(task.original.size());
  task.output = comm.allocate(task.expected.size());
  const ConstView input{task.input.data(), count, type};
  const View output{task.output.data(), block.count, type};
  task.run = [&comm, input, output] {
    reduce_scatter(comm, input, output, {.name = "comm_bench"});
  };
  task.bytes = input.bytes();
  return task;
}

Task all_gather_task(Communicator& comm, DataType type, std::size_t count) {
  Task task;
  const std::size_t share = std::max<std::size_t>(count / static_cast<unsigned>(comm.size()), 1);
  task.bus_factor = share_of_others(comm.size());
  task.original = input_of(type, comm.rank(), comm.size(), 0, share);
  for (int r = 0; r < comm.size(); ++r) {
    const std::vector<std::byte> theirs = input_of(type, r, comm.size(), 0, share);
    task.expected.insert(task.expected.end(), theirs.begin(), theirs.end());
  }
  task.input = comm.allocate(task.original.size());
  task.output = comm.allocate(task.expected.size());
  const ConstView input{task.input.data(), share, type};
  const View output{task.output.data(), share * static_cast<unsigned>(comm.size()), type};
  task.run = [&comm, input, output] { all_gather(comm, input, output, {.name = "comm_bench"}); };
  task.bytes = output.bytes();
  return task;
}

Task barrier_task(Communicator& comm, DataType /*type*/, std::size_t /*count*/) {
  Task task;
  task.run = [&comm] { barrier(comm, {.name = "comm_bench"}); };
  return task;
}

struct Operation {
  const char* name;
  Task (*make)(Communicator&, DataType, std::size_t count);
};
constexpr std::array kOperations = {
    Operation{"all_reduce", all_reduce_task}, Operation{"broadcast", broadcast_task},
    Operation{"reduce_scatter", reduce_scatter_task}, Operation{"all_gather", all_gather_task},
    Operation{"barrier", barrier_task}};

}  // namespace

void Task::restore() {
  if (!original.empty()) std::memcpy(input.data(), original.data(), original.size());
  if (output.bytes() > 0) std::memset(output.data(), 0xff, output.bytes());
}

std::size_t Task::wrong_elements() const {
  const std::byte* result = output.bytes() > 0 ? output.data() : input.data();
  if (expected.empty() || std::memcmp(result, expected.data(), expected.size()) == 0) return 0;
  std::size_t wrong = 0;
  for (std::size_t at = 0; at < expected.size(); at += size_of(type)) {
    wrong += std::memcmp(result + at, &expected[at], size_of(type)) != 0 ? 1 : 0;
  }
  return wrong;
}

std::vector<std::string> operation_names() {
  std::vector<std::string> names;
  names.reserve(kOperations.size());
  for (const Operation& operation : kOperations) names.emplace_back(operation.name);
  return names;
}

Task make_task(Communicator& comm, const std::string& op, DataType type, std::size_t bytes) {
  const std::size_t count = std::max<std::size_t>(bytes / size_of(type), 1);
  const auto* const found =
      std::ranges::find_if(kOperations, [&](const Operation& known) { return known.name == op; });
  Task task = found->make(comm, type, count);
  task.type = type;
  return task;
}

std::vector<std::byte> input_of(
    DataType type, int r, int ranks, std::size_t first, std::size_t count) {
  return fill(type, first, count, [=](std::size_t j) { return element(type, r, ranks, j); });
}

std::vector<std::byte> sum_of_inputs(DataType type,
                                     int ranks,
                                     std::size_t first,
                                     std::size_t count) {
  return fill(type, first, count, [=](std::size_t j) {
    std::uint64_t sum = 0;
    for (int r = 0; r < ranks; ++r) sum += element(type, r, ranks, j);
    return sum;
  });
}

}  // namespace bp::bench
