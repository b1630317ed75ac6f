// Room on disk, and how its lack is told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace bp::trainer {

// Bytes that this user may still write where `path` lies, or would (its nearest folder that is
// there); none where the system does not say.
[[nodiscard]] std::optional<std::uint64_t> free_space(const std::string& path);

// "about 3.4 MiB more are needed, 12.0 KiB are free there"
[[nodiscard]] std::string space_text(const std::string& path, std::uint64_t needed);

}  // namespace bp::trainer
