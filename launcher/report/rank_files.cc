#include "launcher/report/rank_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/system/output_place.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp::launcher {

RankFiles::File RankFiles::open_file(const std::string& path) {
  const OutputFolder made(std::filesystem::path(path).parent_path().string());
  File file{.fd = Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666))};
  if (!file.fd) {
    throw Error(ErrorCode::io, concat("--output: cannot write ", path, ": ", made.why_not()));
  }
  struct stat status = {};
  if (::fstat(file.fd.get(), &status) == 0) {
    file.size = static_cast<std::uint64_t>(status.st_size);
  }
  return file;
}

RankFiles::RankFiles(std::string folder, int world_size, std::uint64_t limit)
    : folder_(std::move(folder)), digits_(std::to_string(world_size - 1).size()), limit_(limit) {
  for (int rank = 0; !folder_.empty() && rank < world_size; ++rank) {
    files_.push_back(open_file(path_of(rank, Stream::out)));
    files_.push_back(open_file(path_of(rank, Stream::err)));
  }
}

// Keeps the file as it is, above its limit, if it cannot be renamed or the next one cannot be made.
void RankFiles::rotate(File& file, const std::string& path) const {
  const std::string older = path + ".1";
  if (::rename(path.c_str(), older.c_str()) != 0) {
    return;
  }
  try {
    file = open_file(path);
  } catch (const Error&) {
    static_cast<void>(::rename(older.c_str(), path.c_str()));
  }
}

// Returns DIR/rank.07/stderr; the number has as many digits as the highest rank.
std::string RankFiles::path_of(int rank, Stream stream) const {
  if (folder_.empty()) {
    return "";
  }
  const std::string digits = std::to_string(rank);
  return std::filesystem::path(folder_) /
         concat("rank.", std::string(digits_ - digits.size(), '0'), digits) /
         (stream == Stream::out ? "stdout" : "stderr");
}

void RankFiles::write(const Output& output) {
  if (files_.empty()) {
    return;
  }
  File& file =
      files_.at(static_cast<std::size_t>(output.rank) * 2 + (output.stream == Stream::out ? 0 : 1));
  const std::size_t size = output.data.size();
  const bool beyond = limit_ > 0 && file.size > 0 && file.size + size > limit_;
  if (beyond && (file.at_line_start || file.size + size > 2 * limit_)) {
    rotate(file, path_of(output.rank, output.stream));
  }
  const std::size_t written = write_all(file.fd.get(), output.data.data(), size);
  file.size += written;
  if (written > 0) {
    file.at_line_start = output.data[written - 1] == '\n';
  }
  if (written < size) {
    const int error = errno;
    if (loss_.bytes == 0) {
      loss_.path = path_of(output.rank, output.stream);
      loss_.error = error;
    }
    loss_.bytes += size - written;
  }
}

}  // namespace bp::launcher
