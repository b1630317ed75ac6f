#include "launcher/sweep/relay/relayed_command.h"

#include <poll.h>
#include <sys/wait.h>

#include <chrono>
#include <utility>

#include "base/deadline.h"
#include "base/text.h"
#include "bp/error.h"
#include "launcher/process/environment_list.h"
#include "launcher/process/program.h"
#include "launcher/report/exit_code.h"

namespace bp::launcher::sweep {
namespace {

constexpr const char* kShell = "/bin/sh";
constexpr std::chrono::seconds kToEnd{1};  // for an agent, once its connection is closed

pid_t start_shell(const std::string& command, int input, int output, int errors) {
  const SpawnResult result = spawn({.file = kShell,
                                    .argv = {kShell, "-c", command},
                                    .environment = own_environment(),
                                    .standard_input = input,
                                    .standard_output = output,
                                    .standard_error = errors});
  if (result.error != 0) {
    throw Error(ErrorCode::io, concat("cannot run ", kShell, ": ", exec_error_text(result.error)));
  }
  return result.pid;
}

}  // namespace

RelayedCommand::RelayedCommand(EventLoop& loop, const std::string& command, Listener listener)
    : RelayedCommand(loop, Pipes(), command, std::move(listener)) {}

RelayedCommand::RelayedCommand(EventLoop& loop,
                               Pipes pipes,
                               const std::string& command,
                               Listener listener)
    : loop_(loop),
      listener_(std::move(listener)),
      child_(start_shell(
          command, pipes.input.read.get(), pipes.output.write.get(), pipes.errors.write.get())),
      watched_(child_.fd()),
      input_(loop, std::move(pipes.input.write)),
      output_(loop,
              std::move(pipes.output.read),
              [this](std::string_view bytes) {
                if (!bytes.empty()) listener_.on_output(bytes);
              }),
      errors_(loop, std::move(pipes.errors.read), [this](std::string_view bytes) {
        if (!bytes.empty()) listener_.on_errors(bytes);
      }) {
  loop_.watch(watched_, POLLIN, [this](short) { ended(); });
}

RelayedCommand::~RelayedCommand() {
  input_.close();
  if (watched_ >= 0) {
    loop_.forget(watched_);
    static_cast<void>(child_.wait(Deadline(kToEnd)));
  }
}

void RelayedCommand::input(std::string_view bytes) {
  bytes.empty() ? input_.close_when_written() : input_.write(bytes);
}

void RelayedCommand::ended() {
  const auto status = child_.wait(Deadline(std::chrono::milliseconds{0}));
  if (!status) {
    return;
  }
  loop_.forget(std::exchange(watched_, -1));
  output_.drain();
  errors_.drain();
  const auto on_exit = listener_.on_exit;  // the callee destroys this
  on_exit(WIFEXITED(*status) ? WEXITSTATUS(*status) : kExitSignal + WTERMSIG(*status));
}

}  // namespace bp::launcher::sweep
