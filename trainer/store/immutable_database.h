// SQLite files that nobody changes while they are read.
#pragma once

#include <optional>
#include <string>

namespace SQLite {
class Database;
}

namespace bp::trainer {

// Returns the application_id of the SQLite database in the file, which its first bytes tell;
// nothing for a file that is none, or cannot be read. Does not wait for the writer of a pipe.
[[nodiscard]] std::optional<int> application_of(const std::string& path);

// Opens the file to read it. SQLite takes no locks and creates no files next to it, so it may be in
// a network folder or a read-only one. Only one thread may use the connection. Throws
// SQLite::Exception.
[[nodiscard]] SQLite::Database open_immutable(const std::string& path);

}  // namespace bp::trainer
