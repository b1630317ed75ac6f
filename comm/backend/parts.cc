#include "comm/backend/parts.h"

#include "comm/reduce/reduce.h"

namespace bp {

void apply_received(ReceiveAction how, const View& data, ReduceOp op, const std::byte* received) {
  switch (how) {
    case ReceiveAction::reduce_left:
      reduce_to(data.type, op, data.data, received, data.data, data.count);
      return;
    case ReceiveAction::reduce_right:
      reduce_to(data.type, op, data.data, data.data, received, data.count);
      return;
    case ReceiveAction::replace:  // was received in place
    case ReceiveAction::none:
      return;
  }
}

}  // namespace bp
