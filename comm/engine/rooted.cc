// The public collectives with a root. They check their arguments and give an Operation to the
// engine.
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "bp/collective.h"
#include "comm/engine/request.h"

namespace bp {
namespace {

using Kind = Operation::Kind;

Request rooted(Communicator& comm,
               Kind kind,
               const CollectiveOptions& options,
               std::string_view called = {}) {
  Request request(comm, kind, options, called);
  request.check_rank("root", options.root);
  request.operation.root = options.root;
  return request;
}

Request reduce_request(Communicator& comm, const View& data, const CollectiveOptions& options) {
  Request request = rooted(comm, Kind::reduce, options);
  request.check_memory("data", data);
  request.check_reducible(data.type);
  request.operation.output = data;
  return request;
}

// gather and scatter: each rank gives or takes its block of the vector that the root has whole.
Request blocks_request(Communicator& comm,
                       Kind kind,
                       const ConstView& input,
                       const View& output,
                       std::vector<std::size_t> counts,
                       const CollectiveOptions& options,
                       std::string_view called = {}) {
  Request request = rooted(comm, kind, options, called);
  const bool gathers = kind == Kind::gather;
  const bool is_root = comm.rank() == options.root;
  const ConstView block = gathers ? input : ConstView(output);
  const char* const block_name = gathers ? "input" : "output";
  request.check_memory(block_name, block);
  request.check_count("counts", counts.size(), static_cast<std::size_t>(comm.size()));
  request.check_count(block_name, block.count, counts[static_cast<std::size_t>(comm.rank())]);
  if (is_root) {
    request.check_pair(input, output);
    request.check_counts("counts", counts, gathers ? "output" : "input",
                         gathers ? ConstView(output) : input);
    request.check_apart(input, output);
  }
  if (gathers || is_root) request.operation.input = input;
  if (!gathers || is_root) request.operation.output = output;
  request.operation.counts = std::move(counts);
  return request;
}

}  // namespace

void reduce(Communicator& comm, View data, const CollectiveOptions& options) {
  reduce_request(comm, data, options).run();
}
Work reduce_async(Communicator& comm, View data, const CollectiveOptions& options) {
  return reduce_request(comm, data, options).start();
}

void gather(Communicator& comm, ConstView input, View output, const CollectiveOptions& options) {
  blocks_request(comm, Kind::gather, input, output, one_each(comm, input.count), options).run();
}
Work gather_async(Communicator& comm,
                  ConstView input,
                  View output,
                  const CollectiveOptions& options) {
  return blocks_request(comm, Kind::gather, input, output, one_each(comm, input.count), options)
      .start();
}

void gather_v(Communicator& comm,
              ConstView input,
              View output,
              std::span<const std::size_t> counts,
              const CollectiveOptions& options) {
  blocks_request(comm, Kind::gather, input, output, copy_of(counts), options, "gather_v").run();
}
Work gather_v_async(Communicator& comm,
                    ConstView input,
                    View output,
                    std::span<const std::size_t> counts,
                    const CollectiveOptions& options) {
  return blocks_request(comm, Kind::gather, input, output, copy_of(counts), options, "gather_v")
      .start();
}

void scatter(Communicator& comm, ConstView input, View output, const CollectiveOptions& options) {
  blocks_request(comm, Kind::scatter, input, output, one_each(comm, output.count), options).run();
}
Work scatter_async(Communicator& comm,
                   ConstView input,
                   View output,
                   const CollectiveOptions& options) {
  return blocks_request(comm, Kind::scatter, input, output, one_each(comm, output.count), options)
      .start();
}

void scatter_v(Communicator& comm,
               ConstView input,
               View output,
               std::span<const std::size_t> counts,
               const CollectiveOptions& options) {
  blocks_request(comm, Kind::scatter, input, output, copy_of(counts), options, "scatter_v").run();
}
Work scatter_v_async(Communicator& comm,
                     ConstView input,
                     View output,
                     std::span<const std::size_t> counts,
                     const CollectiveOptions& options) {
  return blocks_request(comm, Kind::scatter, input, output, copy_of(counts), options, "scatter_v")
      .start();
}

}  // namespace bp
