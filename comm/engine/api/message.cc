// The public functions for messages between two ranks. They check their arguments and give an
// Operation to the engine.
#include "base/text.h"
#include "bp/collective.h"
#include "comm/engine/api/request.h"

namespace bp {
namespace {

Request send_request(Communicator& comm,
                     const ConstView& data,
                     int receiver,
                     const CollectiveOptions& options) {
  Request request(comm, Operation::Kind::message, options, "send");
  request.check_rank("receiver", receiver);
  request.check_memory("data", data);
  if (options.tag < 0) request.refuse(concat("tag is ", options.tag, "; tags begin with 0"));
  if (options.at_most) request.refuse("at_most is for receives");
  request.operation.root = comm.rank();
  request.operation.receiver = receiver;
  request.operation.tag = options.tag;
  request.operation.input = data;
  request.operation.output.type = data.type;
  return request;
}

Request receive_request(Communicator& comm,
                        const View& data,
                        int sender,
                        const CollectiveOptions& options) {
  Request request(comm, Operation::Kind::message, options, "receive");
  if (sender != kAnySource) request.check_rank("sender", sender);
  request.check_memory("data", data);
  if (options.tag < kAnyTag) {
    request.refuse(concat("tag is ", options.tag, "; tags begin with 0, and kAnyTag is ", kAnyTag));
  }
  request.operation.root = sender;
  request.operation.receiver = comm.rank();
  request.operation.tag = options.tag;
  request.operation.at_most = options.at_most;
  request.operation.input.type = data.type;
  request.operation.output = data;
  return request;
}

}  // namespace

void send(Communicator& comm, ConstView data, int receiver, const CollectiveOptions& options) {
  send_request(comm, data, receiver, options).send();
}
Work send_async(Communicator& comm,
                ConstView data,
                int receiver,
                const CollectiveOptions& options) {
  return send_request(comm, data, receiver, options).start_send();
}

MessageStatus receive(Communicator& comm, View data, int sender, const CollectiveOptions& options) {
  return receive_request(comm, data, sender, options).receive();
}
Work receive_async(Communicator& comm,
                   View data,
                   int sender,
                   const CollectiveOptions& options,
                   MessageStatus* status) {
  return receive_request(comm, data, sender, options).start_receive(status);
}

}  // namespace bp
