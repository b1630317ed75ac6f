// Look-ups in the file system. Where the system does not answer, because a folder may not be
// entered or a name is too long, they throw InputError (66) with the path, the reason and a hint.
// That a path does not exist is an answer and not an error, and so it is for a path below a file.
#pragma once

#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

namespace bp::trainer {

// Returns the path without the slashes at its end, with which a user may have named a folder.
[[nodiscard]] std::string without_slashes(std::string path);

[[nodiscard]] bool path_exists(const std::string& path);
[[nodiscard]] bool folder_exists(const std::string& path);
// Returns the size of a file in bytes. A file that does not exist is an error too.
[[nodiscard]] std::uintmax_t size_of_file(const std::string& path);
// Returns the content of a file; "" for one that cannot be read.
[[nodiscard]] std::string text_in(const std::string& path);
// Returns the names of a folder's entries, in no particular order; none if it does not exist.
[[nodiscard]] std::vector<std::string> entries_of(const std::string& folder);

// Returns the paths of the files that begin with `prefix`, such as "runs/a.part-". It is for
// removing leftovers, so files that cannot be listed are not in it, and it throws nothing.
[[nodiscard]] std::vector<std::string> files_that_begin(const std::string& prefix);

// Throws InputError (66): "cannot read runs/a: Permission denied", with a hint for this reason.
[[noreturn]] void refuse_look_up(const std::string& path, const std::error_code& why);

// For a user who may not write in another folder: returns a path that ends in `name`, in the first
// of these folders that this process may write to: the current one, the user's home, and the one
// for temporary files (without a check).
[[nodiscard]] std::string writable_place(const std::string& name);

}  // namespace bp::trainer
