// The files DIR/rank.N/stdout and stderr: everything that each rank writes, unchanged.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/system/fd.h"
#include "launcher/protocol/agent_messages.h"

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
  // be created. Appends to files that exist, from an earlier generation of the job. A file that
  // would grow beyond `limit` bytes (0: no limit) is renamed at the end of a line to NAME.1, in
  // place of an earlier one, and begins again; output that arrives at once
  // stays together, so it may be larger by that, or twice as large without an end of a line.
  RankFiles(std::string folder, int world_size, std::uint64_t limit = 0);

  void write(const Output& output);
  [[nodiscard]] const Loss& loss() const { return loss_; }
  [[nodiscard]] std::string path_of(int rank, Stream stream) const;  // empty if there are no files

 private:
  struct File {
    Fd fd;
    std::uint64_t size = 0;
    bool at_line_start = true;
  };
  [[nodiscard]] static File open_file(const std::string& path);
  void rotate(File& file, const std::string& path) const;

  std::string folder_;
  std::size_t digits_;
  std::uint64_t limit_;
  std::vector<File> files_;  // two per rank
  Loss loss_;
};

}  // namespace bp::launcher
