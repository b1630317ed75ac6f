// strangers MODE COUNT COMMAND... runs the command while Strangers (strangers.h) makes COUNT
// connections to each port that it opens. Exits with the command's exit code, or with 70 if the
// command succeeded but opened no port.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "tests/support/strangers.h"

int main(int argc, char** argv) {
  using bp::test::Strangers;
  const std::map<std::string, Strangers::Mode> modes = {{"silent", Strangers::Mode::silent},
                                                        {"garbage", Strangers::Mode::garbage},
                                                        {"slow", Strangers::Mode::slow},
                                                        {"replay", Strangers::Mode::replay}};
  if (argc < 4 || !modes.contains(argv[1])) {
    std::fprintf(stderr, "usage: strangers silent|garbage|slow|replay COUNT COMMAND...\n");
    return 64;
  }
  const Strangers strangers(modes.at(argv[1]), std::atoi(argv[2]));
  const pid_t job = ::fork();
  if (job == 0) {
    ::execvp(argv[3], argv + 3);
    std::perror(argv[3]);
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(job, &status, 0) != job) {
  }
  std::fprintf(stderr, "strangers: %d ports, %d connections\n", strangers.ports(),
               strangers.connections());
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return code == 0 && strangers.ports() == 0 ? 70 : code;
}
