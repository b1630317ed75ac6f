#include "comm/backend/parts.h"

#include "comm/reduce/reduce.h"

namespace bp {

void take_in(Received how, const View& data, ReduceOp op, const std::byte* received) {
  switch (how) {
    case Received::lower:
      reduce_to(data.type, op, data.data, received, data.data, data.count);
      return;
    case Received::upper:
      reduce_to(data.type, op, data.data, data.data, received, data.count);
      return;
    case Received::replaces:  // arrived in place
    case Received::nothing:
      return;
  }
}

}  // namespace bp
