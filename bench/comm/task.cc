#include "bench/comm/task.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "bp/collective.h"
#include "comm/device/device_memory.h"
#include "comm/reduce/reduce.h"

namespace bp::bench {
namespace {

// What a task is made of.
struct Shape {
  DataType type = DataType::u8;
  std::size_t count = 0;
  Place place;
};

double share_of_others(int ranks) { return (ranks - 1.0) / ranks; }

Pattern pattern_of_input(
    DataType type, int rank, int ranks, std::size_t count, std::size_t first = 0) {
  return {count * size_of(type), input_of(type, rank, ranks, first, std::min(count, kPeriod))};
}

View view_of(const Space& space, std::size_t count, DataType type) {
  return {space.data(), count, type, space.device()};
}

CollectiveOptions options_for(DataType type) {
  return {.op = reduction_of(type), .name = "comm_bench"};
}

Task in_place(Communicator& comm, const Shape& shape) {
  Task task;
  task.original = pattern_of_input(shape.type, comm.rank(), comm.size(), shape.count);
  task.bytes = task.original.bytes;
  task.input = Space(comm, shape.place, task.bytes);
  return task;
}

Task all_reduce_task(Communicator& comm, const Shape& shape) {
  Task task = in_place(comm, shape);
  task.bus_factor = 2 * share_of_others(comm.size());
  task.repeatable = most_repetitions(shape.type, comm.size());
  task.expected = [shape, bytes = task.bytes, ranks = comm.size()](int runs) {
    return std::vector<Pattern>{
        {bytes, reduced_inputs(shape.type, ranks, 0, std::min(shape.count, kPeriod), runs - 1)}};
  };
  const View data = view_of(task.input, shape.count, shape.type);
  task.run = [&comm, data] { all_reduce(comm, data, options_for(data.type)); };
  return task;
}

Task broadcast_task(Communicator& comm, const Shape& shape) {
  Task task = in_place(comm, shape);
  task.bus_factor = comm.size() > 1 ? 1 : 0;
  task.expected = [shape, ranks = comm.size()](int /*runs*/) {
    return std::vector{pattern_of_input(shape.type, 0, ranks, shape.count)};
  };
  const View data = view_of(task.input, shape.count, shape.type);
  task.run = [&comm, data] { broadcast(comm, data, {.name = "comm_bench"}); };
  return task;
}

Task reduce_scatter_task(Communicator& comm, const Shape& shape) {
  Task task = in_place(comm, shape);
  const Block block = block_of(shape.count, comm.size(), comm.rank());
  task.bus_factor = share_of_others(comm.size());
  task.output = Space(comm, shape.place, block.count * size_of(shape.type));
  task.expected = [shape, block, bytes = task.output.bytes(), ranks = comm.size()](int /*runs*/) {
    return std::vector<Pattern>{
        {bytes, reduced_inputs(shape.type, ranks, block.offset, std::min(block.count, kPeriod))}};
  };
  const ConstView input = view_of(task.input, shape.count, shape.type);
  const View output = view_of(task.output, block.count, shape.type);
  task.run = [&comm, input, output] {
    reduce_scatter(comm, input, output, options_for(input.type));
  };
  return task;
}

Task all_gather_task(Communicator& comm, const Shape& shape) {
  const auto ranks = static_cast<unsigned>(comm.size());
  const std::size_t share = std::max<std::size_t>(shape.count / ranks, 1);
  Task task = in_place(comm, {shape.type, share, shape.place});
  task.bus_factor = share_of_others(comm.size());
  task.bytes = task.original.bytes * ranks;
  task.output = Space(comm, shape.place, task.bytes);
  task.expected = [type = shape.type, share, ranks](int /*runs*/) {
    std::vector<Pattern> all;
    for (unsigned r = 0; r < ranks; ++r) {
      all.push_back(pattern_of_input(type, static_cast<int>(r), static_cast<int>(ranks), share));
    }
    return all;
  };
  const ConstView input = view_of(task.input, share, shape.type);
  const View output = view_of(task.output, share * ranks, shape.type);
  task.run = [&comm, input, output] { all_gather(comm, input, output, {.name = "comm_bench"}); };
  return task;
}

// Reduces to rank 0 by the maximum, which is the same after any number of runs. Elements of a type
// without an order are added, so each run adds the other ranks' once more.
Task reduce_task(Communicator& comm, const Shape& shape) {
  Task task = in_place(comm, shape);
  task.bus_factor = comm.size() > 1 ? 1 : 0;
  const ReduceOp op = can_reduce(ReduceOp::max, shape.type) ? ReduceOp::max : ReduceOp::sum;
  task.expected = [shape, op, rank = comm.rank(), ranks = comm.size()](int runs) {
    Pattern result = pattern_of_input(shape.type, rank, ranks, shape.count);
    for (int r = 1; rank == 0 && r < ranks; ++r) {
      const Pattern other = pattern_of_input(shape.type, r, ranks, shape.count);
      for (int run = 0; run < (op == ReduceOp::max ? 1 : runs); ++run) {
        bp::reduce(shape.type, op, result.period.data(), other.period.data(),
                   std::min(shape.count, kPeriod));
      }
    }
    return std::vector{result};
  };
  const View data = view_of(task.input, shape.count, shape.type);
  task.run = [&comm, data, op] { reduce(comm, data, {.op = op, .name = "comm_bench"}); };
  return task;
}

Task gather_task(Communicator& comm, const Shape& shape) {
  Task task = all_gather_task(comm, shape);
  const std::size_t bytes = task.original.bytes;
  const bool is_root = comm.rank() == 0;
  if (!is_root) {
    task.output = {};
    task.expected = [shape, count = bytes / size_of(shape.type), rank = comm.rank(),
                     ranks = comm.size()](int /*runs*/) {
      return std::vector{pattern_of_input(shape.type, rank, ranks, count)};
    };
  }
  const ConstView input = view_of(task.input, bytes / size_of(shape.type), shape.type);
  View output = view_of(task.output, task.output.bytes() / size_of(shape.type), shape.type);
  output.device = shape.place.device;  // also of an empty view
  task.run = [&comm, input, output] { gather(comm, input, output, {.name = "comm_bench"}); };
  return task;
}

// Each rank has a vector that is cut into equal shares, one for each rank.
Task shared_out(Communicator& comm, const Shape& shape) {
  const auto ranks = static_cast<unsigned>(comm.size());
  const std::size_t share = std::max<std::size_t>(shape.count / ranks, 1);
  Task task = in_place(comm, {shape.type, share * ranks, shape.place});
  task.bus_factor = share_of_others(comm.size());
  return task;
}

Task scatter_task(Communicator& comm, const Shape& shape) {
  Task task = shared_out(comm, shape);
  const std::size_t share = task.bytes / size_of(shape.type) / static_cast<unsigned>(comm.size());
  task.output = Space(comm, shape.place, share * size_of(shape.type));
  task.expected = [type = shape.type, share, rank = comm.rank(),
                   ranks = comm.size()](int /*runs*/) {
    const std::size_t first = share * static_cast<unsigned>(rank);
    return std::vector{pattern_of_input(type, 0, ranks, share, first)};
  };
  const ConstView input = view_of(task.input, task.bytes / size_of(shape.type), shape.type);
  const View output = view_of(task.output, share, shape.type);
  task.run = [&comm, input, output] { scatter(comm, input, output, {.name = "comm_bench"}); };
  return task;
}

Task all_to_all_task(Communicator& comm, const Shape& shape) {
  Task task = shared_out(comm, shape);
  const std::size_t count = task.bytes / size_of(shape.type);
  task.output = Space(comm, shape.place, task.bytes);
  task.expected = [type = shape.type, count, rank = comm.rank(),
                   ranks = comm.size()](int /*runs*/) {
    const std::size_t share = count / static_cast<unsigned>(ranks);
    std::vector<Pattern> all;
    for (int r = 0; r < ranks; ++r) {
      all.push_back(pattern_of_input(type, r, ranks, share, share * static_cast<unsigned>(rank)));
    }
    return all;
  };
  const ConstView input = view_of(task.input, count, shape.type);
  const View output = view_of(task.output, count, shape.type);
  task.run = [&comm, input, output] { all_to_all(comm, input, output, {.name = "comm_bench"}); };
  return task;
}

// The same, where the ranks do not know each other's counts.
Task all_to_all_v_task(Communicator& comm, const Shape& shape) {
  Task task = all_to_all_task(comm, shape);
  const std::size_t count = task.bytes / size_of(shape.type);
  const std::size_t ranks = static_cast<unsigned>(comm.size());
  const ConstView input = view_of(task.input, count, shape.type);
  const View output = view_of(task.output, count, shape.type);
  task.run = [&comm, input, output, counts = std::vector(ranks, count / ranks)] {
    all_to_all_v(comm, input, output, {.send = counts, .receive = counts}, {.name = "comm_bench"});
  };
  return task;
}

// A message from rank 0 to the last rank, and one back.
Task message_task(Communicator& comm, const Shape& shape) {
  Task task = in_place(comm, shape);
  const int rank = comm.rank();
  const int last = comm.size() - 1;
  task.bus_factor = last > 0 ? 2 : 0;
  task.expected = [shape, from = rank == last ? 0 : rank, ranks = comm.size()](int /*runs*/) {
    return std::vector{pattern_of_input(shape.type, from, ranks, shape.count)};
  };
  const View data = view_of(task.input, shape.count, shape.type);
  task.run = [&comm, data, rank, last] {
    if (last == 0 || (rank != 0 && rank != last)) return;
    if (rank == 0) send(comm, data, last, {.name = "comm_bench"});
    receive(comm, data, rank == 0 ? last : 0, {.name = "comm_bench"});
    if (rank == last) send(comm, data, 0, {.name = "comm_bench"});
  };
  return task;
}

Task barrier_task(Communicator& comm, const Shape& /*shape*/) {
  Task task;
  task.expected = [](int /*runs*/) { return std::vector<Pattern>(); };
  task.run = [&comm] { barrier(comm, {.name = "comm_bench"}); };
  return task;
}

struct Operation {
  const char* name;
  Task (*make)(Communicator&, const Shape&);
};
constexpr std::array kOperations = {Operation{"all_reduce", all_reduce_task},
                                    Operation{"reduce", reduce_task},
                                    Operation{"broadcast", broadcast_task},
                                    Operation{"reduce_scatter", reduce_scatter_task},
                                    Operation{"all_gather", all_gather_task},
                                    Operation{"gather", gather_task},
                                    Operation{"scatter", scatter_task},
                                    Operation{"all_to_all", all_to_all_task},
                                    Operation{"all_to_all_v", all_to_all_v_task},
                                    Operation{"message", message_task},
                                    Operation{"barrier", barrier_task}};

}  // namespace

Space::Space(Communicator& comm, const Place& place, std::size_t bytes)
    : bytes_(bytes), device_(place.device) {
  if (place.memory == Memory::allocated) {
    allocated_ = comm.allocate(bytes, device_);
  } else {
    any_ = memory_of(device_).allocate(bytes);
  }
}

std::byte* Space::data() const { return any_ ? any_.get() : allocated_.data(); }

void Space::write(const std::byte* host) { memory_of(device_).write(data(), host, bytes_); }

std::vector<std::byte> Space::read() const {
  std::vector<std::byte> host(bytes_);
  memory_of(device_).read(host.data(), data(), bytes_);
  return host;
}

void Task::restore() {
  if (place.device == Device{}) {
    original.write(input.data());
  } else {
    std::vector<std::byte> host(input.bytes());
    original.write(host.data());
    input.write(host.data());
  }
  if (output.bytes() > 0) {
    memory_of(place.device).fill(output.data(), std::byte{0xff}, output.bytes());
  }
}

std::int64_t Task::wrong_elements(int runs) const {
  const Space& result_space = output.bytes() > 0 ? output : input;
  const bool on_host = place.device == Device{};
  const std::vector<std::byte> copy = on_host ? std::vector<std::byte>() : result_space.read();
  const std::byte* result = on_host ? result_space.data() : copy.data();
  std::size_t wrong = 0;
  for (const Pattern& part : expected(runs)) {
    wrong += part.wrong_elements(result, type);
    result += part.bytes;
  }
  return static_cast<std::int64_t>(wrong);
}

std::vector<std::string> operation_names() {
  std::vector<std::string> names;
  names.reserve(kOperations.size());
  for (const Operation& operation : kOperations) names.emplace_back(operation.name);
  return names;
}

Task make_task(Communicator& comm,
               const std::string& op,
               DataType type,
               std::size_t bytes,
               const Place& place) {
  const std::size_t count = std::max<std::size_t>(bytes / size_of(type), 1);
  const auto* const found =
      std::ranges::find_if(kOperations, [&](const Operation& known) { return known.name == op; });
  Task task = found->make(comm, {type, count, place});
  task.type = type;
  task.place = place;
  return task;
}

}  // namespace bp::bench
