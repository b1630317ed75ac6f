// Free space on a disk, and the text about a lack of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace bp::trainer {

// Returns the bytes that this user may still write at `path`, or in its nearest folder that exists;
// nothing if the system does not say.
[[nodiscard]] std::optional<std::uint64_t> free_space(const std::string& path);

// Returns "about 3.4 MiB more are needed, 12.0 KiB are free there".
[[nodiscard]] std::string space_text(const std::string& path, std::uint64_t needed);

}  // namespace bp::trainer
