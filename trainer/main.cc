// bert_train: see docs/bert_train.md, or bert_train --help.
#include <ATen/Parallel.h>
#include <malloc.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"
#include "bp/communicator.h"
#include "bp/environment.h"
#include "bp/error.h"
#include "bp/store.h"
#include "trainer/commands/command_line.h"
#include "trainer/commands/commands.h"
#include "trainer/data/input_error.h"
#include "trainer/data/stop_signals.h"
#include "trainer/train/memory_advice.h"

namespace bp::trainer {
namespace {

constexpr int kExitUnavailable = 69;
constexpr int kExitInternal = 70;

// Large blocks come from the heap and stay there. By default each large tensor would be mapped,
// faulted in page by page and unmapped again, in every step: measured to double a step's time.
void keep_large_blocks() {
  constexpr int kNever = 1 << 30;
  ::mallopt(M_MMAP_THRESHOLD, kNever);
  ::mallopt(M_TRIM_THRESHOLD, kNever);
}

// OMP_NUM_THREADS (bprun sets it) or a fair share of the cores.
void share_cores(int local_ranks) {
  if (std::getenv("OMP_NUM_THREADS") != nullptr) {
    at::set_num_threads(at::get_num_threads());
    return;
  }
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  at::set_num_threads(std::max(1, cores / local_ranks));
}

// What several ranks would say alike is said by the first of them only.
bool first_to_say(Communicator* world, const std::string& text) {
  if (world == nullptr || world->store() == nullptr) return true;
  try {
    const std::string me = concat(world->rank());
    return world->store()->compare_set("bert_train/said/" + text.substr(0, 1000), "", me) == me;
  } catch (const std::exception&) {
    return true;  // better twice than never
  }
}

void complain(Communicator* world, const std::string& text, const std::string& hint) {
  if (!first_to_say(world, text)) return;
  std::fprintf(stderr, "bert_train: %s\n", text.c_str());
  if (!hint.empty()) std::fprintf(stderr, "hint: %s\n", hint.c_str());
}

int run(Communicator& world, const Options& options) {
  switch (options.action) {
    case Action::train:
      return run_train(world, options);
    case Action::prepare:
      return run_prepare(world, options);
    case Action::evaluate:
      return run_evaluate(world, options);
    case Action::stop:
      return run_stop(world, options);
  }
  return kExitInternal;
}

// Runs `body`; whatever it throws becomes a line, an exit code, and the end of the other ranks.
template <class Body>
int guarded(std::optional<Communicator>& world, const Body& body) {
  int code = kExitInternal;
  std::string text;
  try {
    return body();
  } catch (const InputError& error) {
    code = error.exit_code();
    text = error.what();
    complain(world ? &*world : nullptr, text, error.hint());
  } catch (const Interrupted& stopped) {
    code = stop_exit_code();
    text = stopped.what();
    complain(world ? &*world : nullptr, text, stopped.hint());
  } catch (const Error& error) {
    text = error.what();
    // A rank that another rank's end has ended has nothing to add.
    const bool aborted = error.code() == ErrorCode::aborted;
    if (aborted && stop_signal() != 0) code = stop_exit_code();
    if (error.code() == ErrorCode::unavailable) code = kExitUnavailable;
    if (!aborted) complain(world ? &*world : nullptr, text, "");
  } catch (const std::exception& error) {
    text = error.what();
    text = text.substr(0, text.find('\n'));
    const bool memory = means_out_of_memory(error);
    complain(world ? &*world : nullptr, memory ? "out of memory: " + text : text,
             memory ? "try fewer ranks on this host, a smaller --batch or a smaller --model" : "");
  }
  if (world) world->abort(text);
  return code;
}

// Before the ranks meet all are in the same case, and the first one speaks for all.
bool speaks() {
  try {
    return Environment::current().topology.rank == 0;
  } catch (const Error&) {
    return true;  // which Communicator::create() will tell
  }
}

int main_of(const std::vector<std::string>& arguments) {
  keep_large_blocks();
  // A file that grows beyond `ulimit -f` is then an error with a text, as a full disk is.
  std::signal(SIGXFSZ, SIG_IGN);
  const bool first = speaks();
  CommandLine line;
  try {
    line = parse_command_line(arguments);
  } catch (const InputError& error) {
    if (first) complain(nullptr, error.what(), error.hint());
    return error.exit_code();
  }
  if (!line.instead.empty()) {
    if (first) std::fputs(line.instead.c_str(), stdout);
    return 0;
  }
  std::optional<StopSignals> signals;  // from when ranks have met; guarded() asks what came
  std::optional<Communicator> world;
  return guarded(world, [&] {
    world.emplace(Communicator::create({.trace = line.options.trace}));
    share_cores(world->topology().local_size());
    signals.emplace(world->rank() == 0);
    const int code = run(*world, line.options);
    world->finish();
    return code;
  });
}

// Ends the process without the destructors of static objects and libraries. Those of LibTorch take
// 0.1 to 0.3 s of processor time. On a busy machine the exit code of a rank that failed came so
// late that bprun, which waits 1.5 s for it, reported another one.
[[noreturn]] void exit_now(int code) {
  std::fflush(nullptr);
  ::_exit(code);
}

}  // namespace
}  // namespace bp::trainer

int main(int argc, char** argv) {
  using namespace bp::trainer;
  exit_now(main_of({argv + 1, argv + argc}));
}
