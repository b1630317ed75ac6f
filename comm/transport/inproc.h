// Ranks as threads of one process: a message is copied from the sender's memory to the receiver's
// by whoever of the two comes second.
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

  // Each rank once; the hub must outlive what it returns. When that is destroyed, transfers from
  // and to this rank that were not complete fail on the other side: it is lost.
  [[nodiscard]] std::unique_ptr<Transport> join(int rank);

  class Mailboxes;

 private:
  std::unique_ptr<Mailboxes> mailboxes_;
};

}  // namespace bp
