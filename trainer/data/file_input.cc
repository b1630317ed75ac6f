#include "trainer/data/file_input.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/input_error.h"
#include "base/regular_file.h"
#include "base/text.h"

namespace bp::trainer {
namespace {

Fd open_file(const std::string& path) {
  OpenedFile file = open_regular_file(path);
  if (file.problem.empty()) return std::move(file.fd);
  throw InputError(
      66, concat("cannot read ", path, ": ", file.problem),
      file.error == ENOENT ? "check the name, and the folder in which it is looked for"
      : file.error == 0
          ? "give a CSV, TSV or JSON lines file; a pipe must be written to a file first"
          : "check the file's permissions");
}

}  // namespace

FileInput::FileInput(const std::string& path) : fd_(open_file(path)) {}

std::size_t FileInput::read_next(std::span<char> room) {
  ssize_t count = 0;
  do {
    count = ::read(fd_.get(), room.data(), room.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) {
    throw BrokenInput(66, concat("the file cannot be read: ", error_text(errno)),
                      "check the disk or the network folder it lies on");
  }
  return static_cast<std::size_t>(count);
}

}  // namespace bp::trainer
