// A client's TCP socket, with deadlines. What fails says why in `why` and returns false or an empty
// descriptor: for a client that tries again, failure is expected.
#pragma once

#include <string>
#include <string_view>

#include "base/deadline.h"
#include "base/fd.h"
#include "bp/environment.h"

namespace bp {

// Tries each address that the host's name has. Throws io where this process has no descriptor left:
// trying again gives none back.
[[nodiscard]] Fd connect_tcp(const StoreAddress& address,
                             const Deadline& deadline,
                             std::string& why);

[[nodiscard]] bool send_all(int fd,
                            std::string_view bytes,
                            const Deadline& deadline,
                            std::string& why);

// True when there is something to read, or an end or error to find; false at the deadline.
[[nodiscard]] bool is_readable(int fd, const Deadline& deadline);

// Appends what has come, at least a byte.
[[nodiscard]] bool receive_some(int fd,
                                std::string& buffer,
                                const Deadline& deadline,
                                std::string& why);

}  // namespace bp
