#include "base/system/standard_output.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/system/fd.h"
#include "base/text.h"

namespace bp {
namespace {

constexpr int kOutputLost = 74;  // as sysexits.h has it

// Returns errno, or 0 if all was written. stdio keeps of a failed write only that it failed, and
// drops the text. Another write then gives the reason; if it succeeds, there is room again.
int output_error() {
  const bool failed = std::ferror(stdout) != 0;
  errno = 0;
  if (std::fflush(stdout) != 0) return errno;
  if (!failed) return 0;
  return write_all(STDOUT_FILENO, "\n", 1) == 1 ? EIO : errno;
}

}  // namespace

void begin_output() {
  ::signal(SIGXFSZ, SIG_IGN);
  if (::fcntl(STDOUT_FILENO, F_GETFD) >= 0 || errno != EBADF) return;
  const int fd = ::open("/dev/null", O_RDONLY);
  if (fd < 0 || fd == STDOUT_FILENO) return;
  ::dup2(fd, STDOUT_FILENO);
  ::close(fd);
}

int end_output(const char* program, int code, ClosedPipe closed) {
  const int error = output_error();
  if (error == 0 || (error == EPIPE && closed == ClosedPipe::enough)) return code;
  std::fprintf(stderr, "%s: cannot write to standard output: %s\n", program,
               error_text(error).c_str());
  return code == 0 ? kOutputLost : code;
}

}  // namespace bp
