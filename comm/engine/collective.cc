// The public collectives: check the arguments, then hand an Operation to the engine. Whatever is
// wrong here is told before anything is sent, and leaves the communicator usable.
#include "bp/collective.h"

#include <numeric>
#include <utility>

#include "comm/base/text.h"
#include "comm/engine/impl.h"

namespace bp {
namespace {

using Kind = Operation::Kind;

[[noreturn]] void refuse(Kind kind, const CollectiveOptions& options, const std::string& why) {
  const std::string name = options.name.empty() ? "" : concat(" '", options.name, "'");
  throw Error(ErrorCode::invalid_argument, concat(name_of(kind), name, ": ", why));
}

Operation prepare(Kind kind, const CollectiveOptions& options) {
  if (options.timeout.count() < 0) {
    refuse(kind, options, concat("timeout ", options.timeout.count(), " ms is negative"));
  }
  Operation operation;
  operation.kind = kind;
  operation.reduce = options.op;
  operation.root = options.root;
  operation.name = options.name;
  operation.timeout = options.timeout;
  return operation;
}

void check_memory(Kind kind,
                  const CollectiveOptions& options,
                  const char* what,
                  const ConstView& memory) {
  if (memory.data == nullptr && memory.count > 0) {
    refuse(kind, options, concat(what, " has ", memory.count, " elements at no address"));
  }
}

void check_pair(Kind kind,
                const CollectiveOptions& options,
                const ConstView& input,
                const View& output) {
  check_memory(kind, options, "input", input);
  check_memory(kind, options, "output", output);
  if (input.type != output.type) {
    refuse(kind, options,
           concat("input is ", name_of(input.type), " and output is ", name_of(output.type),
                  "; they must be of one type"));
  }
}

void check_count(Kind kind,
                 const CollectiveOptions& options,
                 const char* what,
                 std::size_t given,
                 std::size_t wanted) {
  if (given != wanted) {
    refuse(kind, options, concat(what, " has ", given, " elements; it must have ", wanted));
  }
}

bool overlap(const ConstView& a, const ConstView& b) {
  if (a.bytes() == 0 || b.bytes() == 0) return false;
  const std::less<const std::byte*> before;
  return before(a.data, b.data + b.bytes()) && before(b.data, a.data + a.bytes());
}

Operation prepare_all_reduce(const View& data, const CollectiveOptions& options) {
  check_memory(Kind::all_reduce, options, "data", data);
  Operation operation = prepare(Kind::all_reduce, options);
  operation.output = data;
  return operation;
}

Operation prepare_broadcast(const Communicator& comm,
                            const View& data,
                            const CollectiveOptions& options) {
  check_memory(Kind::broadcast, options, "data", data);
  if (options.root < 0 || options.root >= comm.size()) {
    refuse(Kind::broadcast, options,
           concat("root is ", options.root, "; the ranks are 0 to ", comm.size() - 1));
  }
  Operation operation = prepare(Kind::broadcast, options);
  operation.output = data;
  return operation;
}

}  // namespace

void all_reduce(Communicator& comm, View data, const CollectiveOptions& options) {
  comm.impl().engine().run(prepare_all_reduce(data, options));
}

Work all_reduce_async(Communicator& comm, View data, const CollectiveOptions& options) {
  return Work(comm.impl().engine().start(prepare_all_reduce(data, options)));
}

void broadcast(Communicator& comm, View data, const CollectiveOptions& options) {
  comm.impl().engine().run(prepare_broadcast(comm, data, options));
}

Work broadcast_async(Communicator& comm, View data, const CollectiveOptions& options) {
  return Work(comm.impl().engine().start(prepare_broadcast(comm, data, options)));
}

void reduce_scatter(Communicator& comm,
                    ConstView input,
                    View output,
                    const CollectiveOptions& options) {
  check_pair(Kind::reduce_scatter, options, input, output);
  check_count(Kind::reduce_scatter, options, "output", output.count,
              block_of(input.count, comm.size(), comm.rank()).count);
  if (overlap(input, output)) refuse(Kind::reduce_scatter, options, "input and output overlap");
  Operation operation = prepare(Kind::reduce_scatter, options);
  operation.input = input;
  operation.output = output;
  comm.impl().engine().run(operation);
}

void all_gather(Communicator& comm,
                ConstView input,
                View output,
                const CollectiveOptions& options) {
  const std::vector<std::size_t> counts(static_cast<std::size_t>(comm.size()), input.count);
  all_gather_v(comm, input, output, counts, options);
}

void all_gather_v(Communicator& comm,
                  ConstView input,
                  View output,
                  std::span<const std::size_t> counts,
                  const CollectiveOptions& options) {
  check_pair(Kind::all_gather, options, input, output);
  check_count(Kind::all_gather, options, "counts", counts.size(),
              static_cast<std::size_t>(comm.size()));
  const auto own = static_cast<std::size_t>(comm.rank());
  check_count(Kind::all_gather, options, "input", input.count, counts[own]);
  check_count(Kind::all_gather, options, "output", output.count,
              std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
  const std::size_t offset =
      std::accumulate(counts.begin(), counts.begin() + comm.rank(), std::size_t{0});
  if (overlap(input, output) && input.data != output.data + offset * size_of(output.type)) {
    refuse(Kind::all_gather, options,
           "input lies in output, but not where this rank's block belongs");
  }
  Operation operation = prepare(Kind::all_gather, options);
  operation.input = input;
  operation.output = output;
  operation.counts.assign(counts.begin(), counts.end());
  comm.impl().engine().run(operation);
}

void barrier(Communicator& comm, const CollectiveOptions& options) {
  comm.impl().engine().run(prepare(Kind::barrier, options));
}

}  // namespace bp
