// The files DIR/rank.N/stdout and stderr: everything that each rank writes, unchanged.
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
  // Output that could not be written.
  struct Loss {
    std::uint64_t bytes = 0;
    std::string path;  // the first file that failed
    int error = 0;     // the errno of that failure
  };

  // Opens the files; without a folder there are none. Throws io, naming the path, if a file cannot
  // be created. Appends to files that exist, from an earlier generation of the job.
  RankFiles(std::string folder, int world_size);

  void write(const Output& output);
  [[nodiscard]] const Loss& loss() const { return loss_; }
  [[nodiscard]] std::string path_of(int rank, Stream stream) const;  // empty if there are no files

 private:
  std::string folder_;
  std::size_t digits_;
  std::vector<Fd> files_;  // two per rank
  Loss loss_;
};

}  // namespace bp::launcher
