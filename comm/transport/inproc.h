// Ranks as threads of one process. Of sender and receiver, the second to post copies the message
// from the sender's memory to the receiver's.
//
//   InprocHub hub(4);
//   auto transport = hub.join(rank);   // in each thread
#pragma once

#include <memory>

#include "comm/transport/transport.h"

namespace bp {

class InprocHub {
 public:
  explicit InprocHub(int ranks);
  ~InprocHub();
  InprocHub(const InprocHub&) = delete;
  InprocHub& operator=(const InprocHub&) = delete;

  // Returns the transport of a rank. Must be called at most once per rank. The hub must outlive the
  // transport. When the transport is destroyed, incomplete transfers with this rank fail on the
  // other side.
  [[nodiscard]] std::unique_ptr<Transport> join(int rank);

  class Mailboxes;

 private:
  std::unique_ptr<Mailboxes> mailboxes_;
};

}  // namespace bp
