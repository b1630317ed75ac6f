#include "comm/backend/algorithms.h"

namespace bp {

Barrier::Barrier(CollectiveCall& call) : call_(call), schedule_(call.rank(), call.size()) {
  for (int k = 0; k < schedule_.steps(); ++k) {
    receives_.push_back(call_.receive(schedule_.step(k).receive_from, {}, Lane::barrier));
  }
  if (schedule_.steps() > 0) send_step(0);
}

void Barrier::send_step(int k) {
  sends_.push_back(call_.send(schedule_.step(k).send_to, {}, Lane::barrier));
}

void Barrier::finish() {
  for (int k = 0; k < schedule_.steps(); ++k) {
    call_.wait(receives_[static_cast<std::size_t>(k)]);
    if (k + 1 < schedule_.steps()) send_step(k + 1);
  }
  for (CollectiveCall::Message& message : sends_) call_.wait(message);
}

}  // namespace bp
