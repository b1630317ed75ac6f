// A client's TCP socket, with deadlines. A function that fails sets `why` and returns false or an
// empty descriptor, since a client that retries expects failures.
#pragma once

#include <string>
#include <string_view>

#include "base/deadline.h"
#include "base/system/fd.h"
#include "bp/environment.h"

namespace bp {

// Tries each address of the host. Throws io if this process has no descriptor left, because a retry
// would not help.
[[nodiscard]] Fd connect_tcp(const StoreAddress& address,
                             const Deadline& deadline,
                             std::string& why);

[[nodiscard]] bool send_all(int fd,
                            std::string_view bytes,
                            const Deadline& deadline,
                            std::string& why);

// Waits until there is something to read, or the end of the connection or an error. Returns false
// at the deadline.
[[nodiscard]] bool is_readable(int fd, const Deadline& deadline);

// Waits for data and appends at least one byte to `buffer`.
[[nodiscard]] bool receive_some(int fd,
                                std::string& buffer,
                                const Deadline& deadline,
                                std::string& why);

}  // namespace bp
