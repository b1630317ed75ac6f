#include "trainer/prepare/spill_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/text.h"
#include "bp/error.h"

namespace bp::trainer {
namespace {

// Some network folders have no files without a name, so the name is removed there.
Fd open_unnamed(const std::string& folder) {
  Fd file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return file;
  std::string path = folder + "/bp-spill-XXXXXX";
  Fd named(::mkostemp(path.data(), O_CLOEXEC));
  if (named) ::unlink(path.c_str());
  return named;
}

}  // namespace

void SpillFile::append(const void* data, std::size_t size) {
  if (!file_) file_ = open_unnamed(folder_.empty() ? "." : folder_);
  if (!file_ || write_all(file_.get(), data, size) != size) fail("write");
  size_ += static_cast<std::int64_t>(size);
}

void SpillFile::read(std::int64_t offset, void* data, std::size_t size) const {
  auto* to = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t count = ::pread(file_.get(), to, size, offset);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail("read");
    to += count;
    offset += count;
    size -= static_cast<std::size_t>(count);
  }
}

void SpillFile::fail(const char* what) const {
  throw Error(ErrorCode::io, concat("cannot ", what, " a temporary file in ",
                                    folder_.empty() ? "." : folder_, ": ", error_text(errno)));
}

}  // namespace bp::trainer
