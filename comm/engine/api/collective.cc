// The public collectives. They check their arguments and give an Operation to the engine.
#include "bp/collective.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "comm/backend/network/algorithms.h"
#include "comm/engine/api/request.h"

namespace bp {
namespace {

using Kind = Operation::Kind;

Request all_reduce_request(Communicator& comm, const View& data, const CollectiveOptions& options) {
  Request request(comm, Kind::all_reduce, options);
  request.check_memory("data", data);
  request.check_reducible(data.type);
  request.operation.output = data;
  return request;
}

Request grouped_request(Communicator& comm,
                        std::span<const View> tensors,
                        const CollectiveOptions& options) {
  Request request(comm, Kind::all_reduce_grouped, options);
  if (tensors.empty()) request.refuse("there are no tensors; give at least one");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    request.check_memory(concat("tensor ", i).c_str(), tensors[i]);
    request.check_reducible(tensors[i].type);
  }
  request.check_apart(tensors);
  request.operation.group.assign(tensors.begin(), tensors.end());
  return request;
}

// Inside one host nothing is rounded.
Request int8_request(Communicator& comm,
                     const View& data,
                     std::span<float> errors,
                     const CollectiveOptions& options) {
  const bool rounds = comm.topology().hosts() > 1;
  Request request(comm, rounds ? Kind::all_reduce_int8 : Kind::all_reduce, options,
                  name_of(Kind::all_reduce_int8));
  request.check_memory("data", data);
  const bool is_on_host = data.device.kind == Device::Kind::host;
  if (data.type != DataType::f32 || !is_on_host || options.op != ReduceOp::sum ||
      request.operation.is_scaled()) {
    request.refuse("only sums of f32 in host memory travel as int8, without factors");
  }
  request.operation.output = data;
  if (errors.empty()) return request;
  request.check_count("errors", errors.size(), data.count);
  request.check_apart(data, view(errors));
  if (rounds) request.operation.errors = view(errors).data;
  std::ranges::fill(errors, 0.0F);
  return request;
}

Request broadcast_request(Communicator& comm, const View& data, const CollectiveOptions& options) {
  Request request(comm, Kind::broadcast, options);
  request.check_memory("data", data);
  request.check_rank("root", options.root);
  request.operation.root = options.root;
  request.operation.output = data;
  return request;
}

Request reduce_scatter_request(Communicator& comm,
                               const ConstView& input,
                               const View& output,
                               std::vector<std::size_t> counts,
                               const CollectiveOptions& options,
                               std::string_view called) {
  Request request(comm, Kind::reduce_scatter, options, called);
  request.check_pair(input, output);
  request.check_reducible(input.type);
  request.check_counts("counts", counts, "input", input);
  request.check_count("output", output.count, counts[static_cast<std::size_t>(comm.rank())]);
  request.check_block("output", output, "input", input, counts);
  request.operation.input = input;
  request.operation.output = output;
  request.operation.counts = std::move(counts);
  return request;
}

Request all_gather_request(Communicator& comm,
                           const ConstView& input,
                           const View& output,
                           std::vector<std::size_t> counts,
                           const CollectiveOptions& options,
                           std::string_view called = {}) {
  Request request(comm, Kind::all_gather, options, called);
  request.check_pair(input, output);
  request.check_count("counts", counts.size(), static_cast<std::size_t>(comm.size()));
  request.check_count("input", input.count, counts[static_cast<std::size_t>(comm.rank())]);
  request.check_counts("counts", counts, "output", output);
  request.check_block("input", input, "output", output, counts);
  request.operation.input = input;
  request.operation.output = output;
  request.operation.counts = std::move(counts);
  return request;
}

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

Request all_to_all_request(Communicator& comm,
                           const ConstView& input,
                           const View& output,
                           const CollectiveOptions& options) {
  Request request(comm, Kind::all_to_all, options);
  request.check_pair(input, output);
  const auto ranks = static_cast<std::size_t>(comm.size());
  if (input.count % ranks != 0) {
    request.refuse(concat("input has ", input.count, " elements, which ", ranks,
                          " ranks cannot share evenly (all_to_all_v can)"));
  }
  request.check_count("output", output.count, input.count);
  request.check_apart(input, output);
  request.operation.input = input;
  request.operation.output = output;
  request.operation.counts.assign(ranks, input.count / ranks);
  return request;
}

Request all_to_all_v_request(Communicator& comm,
                             const ConstView& input,
                             const View& output,
                             const ExchangeCounts& counts,
                             const CollectiveOptions& options) {
  Request request(comm, Kind::all_to_all_v, options);
  request.check_pair(input, output);
  request.check_counts("counts.send", counts.send, "input", input);
  request.check_counts("counts.receive", counts.receive, "output", output);
  request.check_apart(input, output);
  request.operation.input = input;
  request.operation.output = output;
  request.operation.counts.assign(counts.send.begin(), counts.send.end());
  request.operation.receive_counts.assign(counts.receive.begin(), counts.receive.end());
  return request;
}

}  // namespace

void all_reduce(Communicator& comm, View data, const CollectiveOptions& options) {
  all_reduce_request(comm, data, options).run();
}
Work all_reduce_async(Communicator& comm, View data, const CollectiveOptions& options) {
  return all_reduce_request(comm, data, options).start();
}

void all_reduce_int8(Communicator& comm,
                     View data,
                     std::span<float> errors,
                     const CollectiveOptions& options) {
  int8_request(comm, data, errors, options).run();
}
Work all_reduce_int8_async(Communicator& comm,
                           View data,
                           std::span<float> errors,
                           const CollectiveOptions& options) {
  return int8_request(comm, data, errors, options).start();
}

void all_reduce_grouped(Communicator& comm,
                        std::span<const View> tensors,
                        const CollectiveOptions& options) {
  grouped_request(comm, tensors, options).run();
}
Work all_reduce_grouped_async(Communicator& comm,
                              std::span<const View> tensors,
                              const CollectiveOptions& options) {
  return grouped_request(comm, tensors, options).start();
}

void broadcast(Communicator& comm, View data, const CollectiveOptions& options) {
  broadcast_request(comm, data, options).run();
}
Work broadcast_async(Communicator& comm, View data, const CollectiveOptions& options) {
  return broadcast_request(comm, data, options).start();
}

void reduce_scatter(Communicator& comm,
                    ConstView input,
                    View output,
                    const CollectiveOptions& options) {
  reduce_scatter_request(comm, input, output, even_counts(input.count, comm.size()), options, {})
      .run();
}
Work reduce_scatter_async(Communicator& comm,
                          ConstView input,
                          View output,
                          const CollectiveOptions& options) {
  return reduce_scatter_request(comm, input, output, even_counts(input.count, comm.size()), options,
                                {})
      .start();
}

void reduce_scatter_v(Communicator& comm,
                      ConstView input,
                      View output,
                      std::span<const std::size_t> counts,
                      const CollectiveOptions& options) {
  reduce_scatter_request(comm, input, output, copy_of(counts), options, "reduce_scatter_v").run();
}
Work reduce_scatter_v_async(Communicator& comm,
                            ConstView input,
                            View output,
                            std::span<const std::size_t> counts,
                            const CollectiveOptions& options) {
  return reduce_scatter_request(comm, input, output, copy_of(counts), options, "reduce_scatter_v")
      .start();
}

void all_gather(Communicator& comm,
                ConstView input,
                View output,
                const CollectiveOptions& options) {
  all_gather_request(comm, input, output, one_each(comm, input.count), options).run();
}
Work all_gather_async(Communicator& comm,
                      ConstView input,
                      View output,
                      const CollectiveOptions& options) {
  return all_gather_request(comm, input, output, one_each(comm, input.count), options).start();
}

void all_gather_v(Communicator& comm,
                  ConstView input,
                  View output,
                  std::span<const std::size_t> counts,
                  const CollectiveOptions& options) {
  all_gather_request(comm, input, output, copy_of(counts), options, "all_gather_v").run();
}
Work all_gather_v_async(Communicator& comm,
                        ConstView input,
                        View output,
                        std::span<const std::size_t> counts,
                        const CollectiveOptions& options) {
  return all_gather_request(comm, input, output, copy_of(counts), options, "all_gather_v").start();
}

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

void all_to_all(Communicator& comm,
                ConstView input,
                View output,
                const CollectiveOptions& options) {
  all_to_all_request(comm, input, output, options).run();
}
Work all_to_all_async(Communicator& comm,
                      ConstView input,
                      View output,
                      const CollectiveOptions& options) {
  return all_to_all_request(comm, input, output, options).start();
}

void all_to_all_v(Communicator& comm,
                  ConstView input,
                  View output,
                  const ExchangeCounts& counts,
                  const CollectiveOptions& options) {
  all_to_all_v_request(comm, input, output, counts, options).run();
}
Work all_to_all_v_async(Communicator& comm,
                        ConstView input,
                        View output,
                        const ExchangeCounts& counts,
                        const CollectiveOptions& options) {
  return all_to_all_v_request(comm, input, output, counts, options).start();
}

void barrier(Communicator& comm, const CollectiveOptions& options) {
  Request(comm, Kind::barrier, options).run();
}
Work barrier_async(Communicator& comm, const CollectiveOptions& options) {
  return Request(comm, Kind::barrier, options).start();
}

int join(Communicator& comm, const CollectiveOptions& options) {
  return Request(comm, Kind::join, options).join();
}

}  // namespace bp
