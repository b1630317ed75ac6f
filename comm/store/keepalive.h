// What both ends set on a store connection.
#pragma once

namespace bp {

// Small frames leave at once, and a peer whose host or network has gone is noticed within 10 s by
// the kernel, which still answers for a process that is merely slow or stopped (unless more lies
// unread than its buffer takes).
void prepare_store_socket(int fd);

}  // namespace bp
