// bprun-sweep, the program behind `bprun sweep`. See docs/sweep.md.
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "base/quoted.h"
#include "base/system/process_limit.h"
#include "base/system/standard_output.h"
#include "bp/error.h"
#include "launcher/report/exit_code.h"
#include "launcher/sweep/commands/sweep_commands.h"
#include "launcher/sweep/relay/host_relay.h"
#include "launcher/sweep/relay/passed_streams.h"

namespace bp::launcher::sweep {
namespace {

// --through SOCKET [-p PORT] [-l USER] HOST COMMAND: what a trial's bprun calls in place of ssh.
std::optional<int> run_through(const std::vector<std::string>& arguments) {
  if (arguments.size() < 4 || arguments.front() != "--through") {
    return std::nullopt;
  }
  return through_main(arguments[1], arguments[arguments.size() - 2], arguments.back());
}

int sweep_main(const std::vector<std::string>& arguments) {
  if (arguments == std::vector<std::string>{"--agent"}) {  // as bprun names its own agent
    return host_relay_main();
  }
  if (const auto exit = run_through(arguments)) {
    return *exit;
  }
  if (const auto exit = run_subcommand(arguments)) {
    return *exit;
  }
  return run_sweep(arguments);
}

void print_sweep_error(const char* text) {
  std::fprintf(stderr, "bprun sweep: %s\n", printable(text).c_str());
}

int exit_code_of(const Error& error) {
  switch (error.code()) {
    case ErrorCode::invalid_argument:
      return kExitUsage;
    case ErrorCode::timeout:
    case ErrorCode::unavailable:
      return kExitTemporary;
    default:
      return kExitInternal;
  }
}

int guarded_main(const std::vector<std::string>& arguments) {
  try {
    require_large_stacks();
    return sweep_main(arguments);
  } catch (const Error& error) {
    print_sweep_error(error.what());
    return exit_code_of(error);
  } catch (const std::exception& error) {  // from Asio or the file system
    print_sweep_error(error.what());
    return kExitInternal;
  }
}

}  // namespace
}  // namespace bp::launcher::sweep

int main(int argc, char** argv) {
  bp::begin_output();
  return bp::end_output(
      "bprun sweep", bp::launcher::sweep::guarded_main({argv + (argc > 0 ? 1 : 0), argv + argc}));
}
