#include "launcher/sweep/commands/ask_program.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "base/deadline.h"
#include "base/text.h"
#include "bp/error.h"
#include "launcher/process/child.h"
#include "launcher/process/environment_list.h"
#include "launcher/process/spawn.h"

namespace bp::launcher::sweep {
namespace {

// Reads until the writers have closed the pipe, or until the deadline.
std::string read_all(int fd, int stop, Deadline deadline) {
  std::string text;
  std::array<char, std::size_t{16} << 10> buffer{};
  while (true) {
    std::array<pollfd, 2> ready{{{fd, POLLIN, 0}, {stop, POLLIN, 0}}};
    const int count = ::poll(ready.data(), ready.size(), static_cast<int>(deadline.left().count()));
    if (ready[1].revents != 0) throw Error(ErrorCode::aborted, "asked to stop");
    if (count <= 0) {
      return text;
    }
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got <= 0) {
      return text;
    }
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

Program find_program_here(const std::string& name, const std::vector<std::string>& environment) {
  return find_program(name,
                      {.path = std::string(find_environment(environment, "PATH").value_or("")),
                       .beside = std::filesystem::path(own_program()).parent_path().string()});
}

Answer ask_program(const Question& question) {
  const auto environment = merged_environment(own_environment(), question.environment);
  const std::string& name = question.words.front();
  const Program found = find_program_here(name, environment);
  if (found.exit_code != 0) {
    throw Error(ErrorCode::invalid_argument, concat("cannot run ", name, ": ", found.problem));
  }
  std::vector<std::string> argv = question.words;
  argv.front() = found.file;
  Pipe out = make_pipe();
  Pipe errors = make_pipe();  // nothing reads it, so what goes there is lost
  const SpawnResult started =
      spawn({.file = found.file,
             .argv = argv,
             .environment = environment,
             .standard_output = out.write.get(),
             .standard_error = question.with_errors ? out.write.get() : errors.write.get(),
             .die_with_parent = true});
  if (started.error != 0) {
    throw Error(ErrorCode::io,
                concat("cannot run ", found.file, ": ", exec_error_text(started.error)));
  }
  Child child(started.pid);
  out.write.reset();
  const Deadline deadline(question.limit);
  Answer answer;
  answer.text = read_all(out.read.get(), question.stop, deadline);
  const auto status = child.wait(deadline);
  answer.exit_code = status && WIFEXITED(*status) ? WEXITSTATUS(*status) : -1;
  return answer;
}

}  // namespace bp::launcher::sweep
