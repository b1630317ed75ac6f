// Messages between two ranks: arguments are checked, and an Operation goes to the engine.
#include "bp/collective.h"
#include "comm/base/text.h"
#include "comm/engine/request.h"

namespace bp {
namespace {

// `called`: "send" or "receive".
Request message_request(Communicator& comm,
                        const char* called,
                        int peer,
                        const CollectiveOptions& options) {
  Request request(comm, Operation::Kind::message, options, called);
  request.check_rank("peer", peer);
  if (peer == comm.rank()) request.refuse(concat("peer is ", peer, ", which is this rank"));
  return request;
}

Request send_request(Communicator& comm,
                     const ConstView& data,
                     int receiver,
                     const CollectiveOptions& options) {
  Request request = message_request(comm, "send", receiver, options);
  request.check_memory("data", data);
  request.operation.root = comm.rank();
  request.operation.receiver = receiver;
  request.operation.input = data;
  request.operation.output.type = data.type;
  return request;
}

Request receive_request(Communicator& comm,
                        const View& data,
                        int sender,
                        const CollectiveOptions& options) {
  Request request = message_request(comm, "receive", sender, options);
  request.check_memory("data", data);
  request.operation.root = sender;
  request.operation.receiver = comm.rank();
  request.operation.input.type = data.type;
  request.operation.output = data;
  return request;
}

}  // namespace

void send(Communicator& comm, ConstView data, int receiver, const CollectiveOptions& options) {
  send_request(comm, data, receiver, options).run();
}
Work send_async(Communicator& comm,
                ConstView data,
                int receiver,
                const CollectiveOptions& options) {
  return send_request(comm, data, receiver, options).start();
}

void receive(Communicator& comm, View data, int sender, const CollectiveOptions& options) {
  receive_request(comm, data, sender, options).run();
}
Work receive_async(Communicator& comm, View data, int sender, const CollectiveOptions& options) {
  return receive_request(comm, data, sender, options).start();
}

}  // namespace bp
