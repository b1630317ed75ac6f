// bprun places ranks on hosts, starts and watches them, and reports why a job failed. See
// docs/bprun.md.
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "base/quoted.h"
#include "base/system/process_limit.h"
#include "base/system/standard_output.h"
#include "base/text.h"
#include "bp/error.h"
#include "launcher/agent/agent.h"
#include "launcher/agent/join.h"
#include "launcher/cli/bprun_options.h"
#include "launcher/plan/dry_run.h"
#include "launcher/plan/job_plan.h"
#include "launcher/process/process_tree.h"
#include "launcher/process/program.h"
#include "launcher/process/signals.h"
#include "launcher/report/exit_code.h"
#include "launcher/report/likely_cause.h"
#include "launcher/serve/join_server.h"
#include "launcher/supervise/restarts.h"
#include "launcher/tools/tool.h"

namespace bp::launcher {
namespace {

// `bprun sweep` is a program of its own beside bprun, bprun-sweep, so that bprun does not load the
// libraries that it needs. Replaces this process by bprun-sweep if the first word is "sweep".
// Otherwise returns nothing. Returns the exit code, after saying why, if the program cannot be run.
std::optional<int> become_sweep(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front() != "sweep") {
    return std::nullopt;
  }
  std::string file = std::filesystem::path(own_program()).parent_path() / "bprun-sweep";
  std::vector<std::string> words = arguments;
  std::vector<char*> argv{file.data()};
  for (std::size_t i = 1; i < words.size(); ++i) {
    argv.push_back(words[i].data());
  }
  argv.push_back(nullptr);
  ::execv(file.c_str(), argv.data());
  const int error = errno;
  std::fprintf(stderr, "bprun: cannot run %s: %s\n  hint: it belongs beside bprun\n",
               printable(file).c_str(), exec_error_text(error).c_str());
  return exit_code_of_exec_error(error);
}

// Opens standard streams that the caller closed, so that no pipe gets one of their numbers.
void open_standard_streams() {
  int fd = 0;
  do {
    fd = ::open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  ::close(fd);
}

// bprun allocates and frees buffers for the ranks' output thousands of times. glibc would return
// their pages to the kernel each time, and getting a new page costs more than the work on it.
void keep_freed_memory() {
#ifdef __GLIBC__
  ::mallopt(M_TRIM_THRESHOLD, 4 << 20);
  ::mallopt(M_TOP_PAD, 1 << 20);
#endif
}

void prepare_process() {
  adopt_orphans();
  ignore_broken_pipes();
  ::signal(SIGTTIN, SIG_IGN);  // in the background of a terminal, stdin is treated as absent
}

void print_notes(const JobPlan& plan) {
  for (const std::string& note : plan.notes) {
    std::fprintf(stderr, "bprun: %s\n", printable(note).c_str());
  }
  if (!plan.allocation.empty()) {
    std::fprintf(stderr, "bprun: %s\n", plan.allocation.c_str());
  }
}

int serve_main(const Options& options) {
  prepare_process();
  JoinServer server(options);
  if (options.dry_run) {
    return EarlyExit{0, server.outlook()}.print();
  }
  auto gathered = server.run();
  if (const auto* exit = std::get_if<EarlyExit>(&gathered)) {
    return exit->print();
  }
  auto& [plan, machines] = std::get<JoinResult>(gathered);
  if (!options.quiet) {
    print_notes(plan);
  }
  return run_job(options, plan, std::move(machines));
}

// Runs the ranks of this machine for a job that another machine serves. The server shows their
// output and sends their input.
int join_main(const Options& options) {
  ::signal(SIGTSTP, SIG_IGN);  // a stopped agent would count as lost
  Join request;
  request.slots = options.slots;
  request.first_rank = options.first_rank.value_or(request.first_rank);
  request.world = options.ranks.value_or(request.world);
  request.argv = options.program;
  request.gpus = options.gpus;
  return join_job({*options.join, std::move(request), options.start_timeout, options.lost_after});
}

int launcher_main(const std::string& called, const std::vector<std::string>& arguments) {
  auto options = parse_options(arguments);
  if (const auto* exit = std::get_if<EarlyExit>(&options)) {
    return exit->print();
  }
  auto& own = std::get<Options>(options).own;
  own.insert(own.begin(), called);
  if (std::get<Options>(options).join) {
    return join_main(std::get<Options>(options));
  }
  static_cast<void>(std::filesystem::current_path());  // throws if it was deleted
  if (std::get<Options>(options).serve_port) {
    return serve_main(std::get<Options>(options));
  }
  const auto plan = make_plan(std::get<Options>(options));
  if (const auto* exit = std::get_if<EarlyExit>(&plan)) {
    return exit->print();
  }
  prepare_process();
  if (std::get<Options>(options).dry_run) {
    return dry_run(std::get<JobPlan>(plan), std::get<Options>(options));
  }
  if (!std::get<Options>(options).quiet) {
    print_notes(std::get<JobPlan>(plan));
  }
  return run_job(std::get<Options>(options), std::get<JobPlan>(plan));
}

void print_error(const std::string& text) {
  const std::string hint = likely_cause({.last_errors = {text}});
  std::fprintf(stderr, "bprun: %s\n%s", printable(text).c_str(),
               hint.empty() ? "" : concat("  hint: ", hint, "\n").c_str());
}

// An error without a path is about the working directory; nothing else is looked up without one.
int fail(const std::filesystem::filesystem_error& error) {
  if (!error.path1().empty()) {
    print_error(error.what());
    return kExitInternal;
  }
  std::fprintf(
      stderr,
      "bprun: the working directory no longer exists: %s\n  hint: it was deleted or moved; cd to a "
      "folder that exists\n",
      error.code().message().c_str());
  return kExitNoInput;
}

int run_command(const std::string& called, const std::vector<std::string>& arguments) {
  if (arguments == std::vector<std::string>{"--agent"}) {
    return agent_main();
  }
  if (const auto exit = become_sweep(arguments)) {
    return *exit;
  }
  if (const auto exit = run_tool(arguments)) {
    return *exit;
  }
  return launcher_main(called, arguments);
}

int guarded_main(const std::string& called, const std::vector<std::string>& arguments) {
  try {
    require_large_stacks();
    return run_command(called, arguments);
  } catch (const Error& error) {
    print_error(error.what());
    return error.code() == ErrorCode::invalid_argument ? kExitUsage
           : error.code() == ErrorCode::timeout        ? kExitTemporary
                                                       : kExitInternal;
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(error);
  } catch (const std::system_error& error) {  // from Asio, for lack of a descriptor or thread
    print_error(error.what());
    return kExitInternal;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bprun: internal error: %s\n", error.what());
    return kExitInternal;
  }
}

}  // namespace
}  // namespace bp::launcher

int main(int argc, char** argv) {
  using namespace bp::launcher;  // NOLINT(google-build-using-namespace)
  bp::begin_output();
  open_standard_streams();
  keep_freed_memory();
  const std::string called = argc > 0 ? argv[0] : "bprun";
  return bp::end_output("bprun", guarded_main(called, {argv + (argc > 0 ? 1 : 0), argv + argc}));
}
