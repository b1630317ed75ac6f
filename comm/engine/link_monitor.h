// Says which of this process's connections carry nothing any more (comm/transport/link_watch.h).
//
// Threads: any.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "comm/transport/link_watch.h"
#include "comm/transport/transport.h"

namespace bp {

class LinkMonitor {
 public:
  // By rank in the transport: `ranks` are the launcher's numbers, `hosts` names, or empty.
  LinkMonitor(Transport& transport, std::vector<int> ranks, std::vector<std::string> hosts);

  struct Finding {
    int peer = -1;     // the lowest rank that is concerned, in the transport
    std::string text;  // empty: all is well
  };
  // Looks at all connections. Returns what is wrong if some have carried nothing for at least
  // `least`.
  [[nodiscard]] Finding look(std::chrono::milliseconds least);

 private:
  [[nodiscard]] std::string name_of(int peer) const;
  [[nodiscard]] std::string text_of(int peer, const DeadLink& dead) const;

  Transport& transport_;
  const std::vector<int> ranks_;
  const std::vector<std::string> hosts_;
  std::mutex mutex_;
  std::vector<LinkWatch> watches_;  // guarded by mutex_
};

}  // namespace bp
