// A folder for the temporary files of this process.
#pragma once

#include <string>

namespace bp::trainer {

// A new folder in $TMPDIR, or else /tmp, that only this user can read. The destructor removes it
// with its files.
class TemporaryFolder {
 public:
  TemporaryFolder();  // throws InputError (70) with the path; the hint names TMPDIR
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace bp::trainer
