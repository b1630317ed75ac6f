// The public collectives with a root: arguments are checked, and an Operation goes to the engine.
#include <utility>
#include <vector>

#include "bp/collective.h"
#include "comm/engine/request.h"

namespace bp {
namespace {

using Kind = Operation::Kind;

Request rooted(Communicator& comm, Kind kind, const CollectiveOptions& options) {
  Request request(comm, kind, options);
  request.check_rank("root", options.root);
  request.operation.root = options.root;
  return request;
}

Request reduce_request(Communicator& comm, const View& data, const CollectiveOptions& options) {
  Request request = rooted(comm, Kind::reduce, options);
  request.check_memory("data", data);
  request.operation.output = data;
  return request;
}

// `counts` empty: as many from each rank as from this one.
Request gather_request(Communicator& comm,
                       const ConstView& input,
                       const View& output,
                       std::vector<std::size_t> counts,
                       const CollectiveOptions& options) {
  Request request = rooted(comm, Kind::gather, options);
  const auto own = static_cast<std::size_t>(comm.rank());
  request.check_memory("input", input);
  request.check_count("counts", counts.size(), static_cast<std::size_t>(comm.size()));
  request.check_count("input", input.count, counts[own]);
  request.operation.input = input;
  if (comm.rank() == options.root) {
    request.check_pair(input, output);
    request.check_counts("counts", counts, "output", output);
    request.check_apart(input, output);
    request.operation.output = output;
  }
  request.operation.counts = std::move(counts);
  return request;
}

Request scatter_request(Communicator& comm,
                        const ConstView& input,
                        const View& output,
                        std::vector<std::size_t> counts,
                        const CollectiveOptions& options) {
  Request request = rooted(comm, Kind::scatter, options);
  const auto own = static_cast<std::size_t>(comm.rank());
  request.check_memory("output", output);
  request.check_count("counts", counts.size(), static_cast<std::size_t>(comm.size()));
  request.check_count("output", output.count, counts[own]);
  request.operation.output = output;
  if (comm.rank() == options.root) {
    request.check_pair(input, output);
    request.check_counts("counts", counts, "input", input);
    request.check_apart(input, output);
    request.operation.input = input;
  }
  request.operation.counts = std::move(counts);
  return request;
}

std::vector<std::size_t> one_each(const Communicator& comm, std::size_t count) {
  return std::vector<std::size_t>(static_cast<std::size_t>(comm.size()), count);
}
std::vector<std::size_t> as_vector(std::span<const std::size_t> counts) {
  return {counts.begin(), counts.end()};
}

}  // namespace

void reduce(Communicator& comm, View data, const CollectiveOptions& options) {
  reduce_request(comm, data, options).run();
}
Work reduce_async(Communicator& comm, View data, const CollectiveOptions& options) {
  return reduce_request(comm, data, options).start();
}

void gather(Communicator& comm, ConstView input, View output, const CollectiveOptions& options) {
  gather_request(comm, input, output, one_each(comm, input.count), options).run();
}
Work gather_async(Communicator& comm,
                  ConstView input,
                  View output,
                  const CollectiveOptions& options) {
  return gather_request(comm, input, output, one_each(comm, input.count), options).start();
}

void gather_v(Communicator& comm,
              ConstView input,
              View output,
              std::span<const std::size_t> counts,
              const CollectiveOptions& options) {
  gather_request(comm, input, output, as_vector(counts), options).run();
}
Work gather_v_async(Communicator& comm,
                    ConstView input,
                    View output,
                    std::span<const std::size_t> counts,
                    const CollectiveOptions& options) {
  return gather_request(comm, input, output, as_vector(counts), options).start();
}

void scatter(Communicator& comm, ConstView input, View output, const CollectiveOptions& options) {
  scatter_request(comm, input, output, one_each(comm, output.count), options).run();
}
Work scatter_async(Communicator& comm,
                   ConstView input,
                   View output,
                   const CollectiveOptions& options) {
  return scatter_request(comm, input, output, one_each(comm, output.count), options).start();
}

void scatter_v(Communicator& comm,
               ConstView input,
               View output,
               std::span<const std::size_t> counts,
               const CollectiveOptions& options) {
  scatter_request(comm, input, output, as_vector(counts), options).run();
}
Work scatter_v_async(Communicator& comm,
                     ConstView input,
                     View output,
                     std::span<const std::size_t> counts,
                     const CollectiveOptions& options) {
  return scatter_request(comm, input, output, as_vector(counts), options).start();
}

}  // namespace bp
