// The public collectives in which each rank has other data for each rank. They check their
// arguments and give an Operation to the engine.
#include "base/text.h"
#include "bp/collective.h"
#include "comm/engine/request.h"

namespace bp {
namespace {

using Kind = Operation::Kind;

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

}  // namespace bp
