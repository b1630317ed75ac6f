#include "bp/trainer/run.h"

#include <ATen/Parallel.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/input_error.h"
#include "base/system/standard_output.h"
#include "base/system/usable_cores.h"
#include "base/text.h"
#include "bp/communicator.h"
#include "bp/error.h"
#include "bp/store.h"
#include "trainer/commands/answer.h"
#include "trainer/commands/command_line.h"
#include "trainer/commands/commands.h"
#include "trainer/common/stop_signals.h"
#include "trainer/gpu/use_gpu.h"
#include "trainer/train/watch/memory_advice.h"

namespace bp::trainer {
namespace {

constexpr int kExitUnavailable = 69;
constexpr int kExitInternal = 70;

// Makes the C library keep large blocks on the heap. By default it maps the memory of each large
// tensor, page by page, and unmaps it again, in every step: that doubled the time of a step.
void keep_large_blocks() {
  constexpr int kNever = 1 << 30;
  ::mallopt(M_MMAP_THRESHOLD, kNever);
  ::mallopt(M_TRIM_THRESHOLD, kNever);
}

// Takes OMP_NUM_THREADS threads (bprun sets it), or an equal share of the cores.
void set_threads(int local_ranks) {
  if (std::getenv("OMP_NUM_THREADS") != nullptr) {
    at::set_num_threads(at::get_num_threads());
    return;
  }
  at::set_num_threads(std::max(1, usable_cores().computing() / local_ranks));
}

// What these commands print is all that they do. SIGPIPE ends them when its reader has seen enough
// (`| head`). The others have more to do: without a reader they go on, and report it at their end.
bool only_prints(const AnyOptions& options) {
  const auto* const predict = std::get_if<PredictOptions>(&options);
  return std::holds_alternative<CheckOptions>(options) ||
         std::holds_alternative<RunsOptions>(options) ||
         (predict != nullptr && predict->out.empty());
}

// Returns true on one of the ranks that have the same text to print.
bool is_first_to_print(Communicator* world, const std::string& text) {
  if (world == nullptr || world->store() == nullptr) return true;
  try {
    const std::string me = concat(world->rank());
    return world->store()->compare_set("bert_train/said/" + text.substr(0, 1000), "", me) == me;
  } catch (const std::exception&) {
    return true;  // printed twice is better than never
  }
}

void print_error(Communicator* world, const std::string& text, const std::string& hint) {
  if (is_first_to_print(world, text)) print_problem(text, hint);
}

// Runs `body`. An exception becomes a line on stderr, an exit code, and the end of the other ranks.
template <class Body>
int guarded(std::optional<Communicator>& world, const Body& body) {
  int code = kExitInternal;
  std::string text;
  try {
    return body();
  } catch (const InputError& error) {
    code = error.exit_code();
    text = error.what();
    print_error(world ? &*world : nullptr, text, error.hint());
  } catch (const Interrupted& stopped) {
    code = stop_exit_code();
    text = stopped.what();
    print_error(world ? &*world : nullptr, text, stopped.hint());
  } catch (const Error& error) {
    text = error.what();
    // The rank that failed first has printed the reason.
    const bool aborted = error.code() == ErrorCode::aborted;
    if (aborted && stop_signal() != 0) code = stop_exit_code();
    if (error.code() == ErrorCode::unavailable) code = kExitUnavailable;
    if (!aborted) print_error(world ? &*world : nullptr, text, "");
  } catch (const std::exception& error) {
    text = error.what();
    text = text.substr(0, text.find('\n'));
    const bool memory = means_out_of_memory(error);
    print_error(
        world ? &*world : nullptr, memory ? "out of memory: " + text : text,
        memory ? "try fewer ranks on this host, a smaller --batch or a smaller --model" : "");
  }
  if (world) world->abort(text);
  return code;
}

struct Job {
  std::optional<StopSignals> signals = {};  // after the rendezvous; guarded() asks for the signal
  std::optional<Communicator> world = {};
};

template <class Command>
int run(Job& job, const Command& options) {
  if constexpr (requires { options.device; }) open_gpus(options.device);
  CommunicatorOptions creation;
  if constexpr (requires { options.trace; }) creation.trace = options.trace;
  job.world.emplace(Communicator::create(creation));
  set_threads(job.world->topology().local_size());
  job.signals.emplace(job.world->rank() == 0);
  const int code = run_command(*job.world, options);
  job.world->finish();
  return code;
}
int run(Job& /*none*/, const SweepOptions& options) { return run_command(options); }

int run(const AnyOptions& asked) {
  Job job;
  return guarded(job.world, [&] {
    return std::visit([&](const auto& options) { return run(job, options); }, asked);
  });
}

// Ends the process without the destructors of static objects and libraries. Those of LibTorch take
// 0.1 to 0.3 s of processor time. On a busy machine the exit code of a rank that failed came so
// late that bprun, which waits 1.5 s for it, reported another one.
[[noreturn]] void exit_now(int code, ClosedPipe closed) {
  const int end = end_output("bert_train", code, closed);
  std::fflush(nullptr);
  ::_exit(end);
}

}  // namespace
}  // namespace bp::trainer

namespace bp {

void run_bert_train(int argc, char** argv, const Extensions& extensions) {
  trainer::keep_large_blocks();
  // A file that grows beyond `ulimit -f` then becomes an error with a text, as a full disk does.
  std::signal(SIGXFSZ, SIG_IGN);
  trainer::CommandLine line;
  if (const auto code = trainer::answer({argv + 1, argv + argc}, extensions, line)) {
    trainer::exit_now(*code, ClosedPipe::enough);
  }
  const bool only_prints = trainer::only_prints(line.options);
  if (!only_prints) std::signal(SIGPIPE, SIG_IGN);
  trainer::exit_now(trainer::run(line.options),
                    only_prints ? ClosedPipe::enough : ClosedPipe::lost);
}

}  // namespace bp
