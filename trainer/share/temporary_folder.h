// A folder for files that this process needs for a while.
#pragma once

#include <string>

namespace bp::trainer {

// In $TMPDIR, else /tmp; readable by this user only. Removed with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder();  // throws InputError (70), naming the place and TMPDIR
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace bp::trainer
