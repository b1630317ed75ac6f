// A file for readers that open a path. It is rewritten for each input.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include "base/input_error.h"

namespace bp::test {

class InputFile {
 public:
  explicit InputFile(const std::string& suffix) {
    std::string folder = (std::filesystem::temp_directory_path() / "bp-fuzz-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) std::abort();
    folder_ = folder;
    path_ = (folder_ / ("input" + suffix)).string();
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  const std::string& write(std::string_view bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
    return path_;
  }

 private:
  std::filesystem::path folder_;
  std::string path_;
};

// Like read_anything(), for readers that may also refuse with an InputError.
template <class Body>
void read_input(const Body& body) {
  try {
    read_anything(body);
  } catch (const InputError&) {
  }
}

}  // namespace bp::test
