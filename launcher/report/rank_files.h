// DIR/rank.N/stdout and stderr: all that each rank writes, unchanged.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "launcher/protocol/messages.h"

namespace bp::launcher {

class RankFiles {
 public:
  // What could not be written.
  struct Loss {
    std::uint64_t bytes = 0;
    std::string path;  // of the first file
    int error = 0;     // its errno
  };

  // Without a folder there are no files. Throws io, naming the path, when one cannot be made. What
  // the files hold already, of a job's earlier generation, stays.
  RankFiles(std::string folder, int world_size);

  void write(const Output& output);
  [[nodiscard]] const Loss& loss() const { return loss_; }
  [[nodiscard]] std::string path_of(int rank, Stream stream) const;  // empty without files

 private:
  std::string folder_;
  std::size_t digits_;
  std::vector<Fd> files_;  // two a rank
  Loss loss_;
};

}  // namespace bp::launcher
