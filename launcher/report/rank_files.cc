#include "launcher/report/rank_files.h"

#include <fcntl.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "bp/error.h"

namespace bp::launcher {
namespace {

Fd open_file(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file) {
    throw Error(ErrorCode::io, concat("--output: cannot write ", path, ": ", error_text(errno)));
  }
  return file;
}

}  // namespace

RankFiles::RankFiles(std::string folder, int world_size)
    : folder_(std::move(folder)), digits_(std::to_string(world_size - 1).size()) {
  for (int rank = 0; !folder_.empty() && rank < world_size; ++rank) {
    files_.push_back(open_file(path_of(rank, Stream::out)));
    files_.push_back(open_file(path_of(rank, Stream::err)));
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
  const Fd& file =
      files_.at(static_cast<std::size_t>(output.rank) * 2 + (output.stream == Stream::out ? 0 : 1));
  const std::size_t size = output.data.size();
  const std::size_t written = write_all(file.get(), output.data.data(), size);
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
