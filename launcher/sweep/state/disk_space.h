// Whether the disk of a sweep takes what a sweep and its trials write.
#pragma once

#include <optional>
#include <string>

namespace bp::launcher::sweep {

// Both return why not, as one line that names the folder.

// Asks the file system whether it has space. Writes nothing; does not know of quotas.
[[nodiscard]] std::optional<std::string> why_full(const std::string& folder);

// Writes a small file into the folder and removes it.
[[nodiscard]] std::optional<std::string> why_not_writable(const std::string& folder);

}  // namespace bp::launcher::sweep
