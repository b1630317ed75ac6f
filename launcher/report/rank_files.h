// DIR/rank.N/stdout and stderr: all that each rank writes, unchanged.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "comm/base/fd.h"
#include "launcher/agent/messages.h"

namespace bp::launcher {

class RankFiles {
 public:
  // Without a folder there are no files. Throws io, naming the path, when one cannot be made. What
  // the files hold is emptied, or with `go_on` followed.
  RankFiles(std::string folder, int world_size, bool go_on);

  // The errno of what failed, 0 if nothing did.
  [[nodiscard]] int write(const Output& output);
  [[nodiscard]] std::string error_file(int rank) const;  // empty without files

 private:
  [[nodiscard]] std::string path_of(int rank, Stream stream) const;

  std::string folder_;
  std::size_t digits_;
  std::vector<Fd> files_;  // two a rank
};

}  // namespace bp::launcher
