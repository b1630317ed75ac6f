#include "trainer/report/terminal_width.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace bp::trainer {

int columns_of_stdout() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace bp::trainer
