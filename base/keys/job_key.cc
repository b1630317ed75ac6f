#include "base/keys/job_key.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "base/keys/hmac.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp {
namespace {

constexpr int kSeals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

[[noreturn]] void throw_io(const char* what) {
  throw Error(ErrorCode::io, concat("job key: ", what, ": ", error_text(errno)));
}

}  // namespace

JobKey random_job_key() { return random_bytes(); }

Fd share_job_key(const JobKey& key) {
  Fd fd(::memfd_create("bp-job-key", MFD_ALLOW_SEALING));
  if (!fd) {
    throw_io("memfd_create");
  }
  if (write_all(fd.get(), key.data(), key.size()) < key.size()) {
    throw_io("write to the memfd");
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) {
    throw_io("seal the memfd");
  }
  return fd;
}

JobKey read_job_key(int fd) {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 && errno == EBADF) {
    throw Error(ErrorCode::invalid_argument,
                concat("descriptor ", fd,
                       " is not open: a program between bprun and this one "
                       "closes descriptors it does not know (sudo, ssh, a shell's ",
                       fd, ">&-, Python's subprocess without pass_fds); start this one directly"));
  }
  JobKey key{};
  unsigned char beyond = 0;
  if (seals != kSeals ||
      ::pread(fd, key.data(), key.size(), 0) != static_cast<ssize_t>(key.size()) ||
      ::pread(fd, &beyond, 1, key.size()) != 0) {
    throw Error(ErrorCode::invalid_argument,
                concat("descriptor ", fd,
                       " is not the sealed job key that bprun passed: "
                       "a program between bprun and this one has reused its number"));
  }
  return key;
}

}  // namespace bp
