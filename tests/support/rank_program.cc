// The program that the launcher's tests start as a rank. Its first argument selects what it does.
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/resume_words.h"
#include "base/text.h"
#include "bp/collective.h"
#include "bp/communicator.h"
#include "bp/environment.h"
#include "bp/error.h"
#include "bp/store.h"
#include "tests/support/last_operation.h"
#include "tests/support/recovering_rank.h"

namespace {

using namespace std::chrono_literals;

int rank() { return std::atoi(std::getenv("RANK")); }

[[noreturn]] void pause_forever() {
  while (true) {
    ::pause();
  }
}

// Starts a child in a session of its own, and another child with a child of its own. All of them
// ignore SIGTERM. Returns once the session and the grandchild exist.
void start_family() {
  ::signal(SIGTERM, SIG_IGN);
  int born[2] = {-1, -1};
  if (::pipe(born) != 0) std::abort();
  if (::fork() == 0) {
    ::setsid();
    if (::write(born[1], "1", 1) != 1) std::abort();
    pause_forever();
  }
  if (::fork() == 0) {
    if (::fork() == 0) {
      if (::write(born[1], "2", 1) != 1) std::abort();
      pause_forever();
    }
    pause_forever();
  }
  char byte = 0;
  for (int i = 0; i < 2; ++i) {
    if (::read(born[0], &byte, 1) != 1) std::abort();
  }
}

// Writes argv and the environment as received, with a NUL after each entry.
void dump(const std::string& path, int argc, char** argv) {
  std::ofstream file(path + "." + std::to_string(rank()), std::ios::binary);
  for (int i = 0; i < argc; ++i) {
    file << argv[i] << '\0';
  }
  for (char** entry = environ; *entry != nullptr; ++entry) {
    file << *entry << '\0';
  }
}

void say(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

// Waits until the job fails, then ends because of that failure.
int wait_for_failure(bp::Store& store) {
  try {
    (void)store.get("never set", 60s);
  } catch (const bp::Error& error) {
    const auto failure = store.job_failure();
    store.fail_job({failure ? failure->cause : -1, error.what()});
    std::fprintf(stderr, "rank %d: %s\n", rank(), error.what());
  }
  return 1;
}

int save_when_asked(bp::Store& store) {
  while (!store.stop_requested()) {
    std::this_thread::sleep_for(1ms);
  }
  say("saved");
  store.goodbye();
  return 75;
}

int join(const std::string& mode) {
  if (mode == "late" && rank() == 1) {
    pause_forever();
  }
  if (mode == "save") {
    ::signal(SIGTERM, SIG_IGN);
  }
  const auto environment = bp::Environment::current();
  const auto store = bp::connect_store({.address = *environment.store,
                                        .job = environment.job,
                                        .key = environment.key,
                                        .rank = rank()});
  (void)store->add("joined", 1);
  while (mode != "late" && store->find("joined") != std::to_string(environment.topology.size())) {
    std::this_thread::sleep_for(1ms);
  }
  if (mode == "save") {
    say("joined");
    return save_when_asked(*store);
  }
  if (mode == "done") {
    store->goodbye();
    return 0;
  }
  if (mode == "stop" && rank() == 1) {
    ::raise(SIGSTOP);
  }
  if (mode == "slow") {  // the calling thread does nothing for longer than --kill-silent allows
    std::this_thread::sleep_for(3s);
    store->goodbye();
    return 0;
  }
  if (mode == "leave" && rank() == 1) {
    ::_exit(0);
  }
  if (mode == "resumable" && rank() == 1) {
    store->set(bp::kResumeArguments,
               bp::told_words({.saved = true, .given = {mode}, .instead = {"done", "a b"}}));
    return 3;
  }
  if (mode == "die" && rank() == 1) {
    ::raise(SIGKILL);
  }
  return wait_for_failure(*store);
}

// Rank 0 aborts, but ends later than the ranks that are notified of it.
int give_up() {
  bp::Communicator world = bp::Communicator::create();
  if (rank() == 0) {
    world.abort("rank 0 has enough");
    std::this_thread::sleep_for(200ms);
    return 9;
  }
  try {
    bp::barrier(world);
  } catch (const bp::Error& error) {
    world.abort(error.what());
  }
  return 70;
}

// Rank 0 aborts, but all ranks exit with 0, as if there had been no failure.
int give_up_quietly() {
  bp::Communicator world = bp::Communicator::create();
  if (rank() == 0) {
    world.abort("rank 0 has enough");
    return 0;
  }
  try {
    bp::barrier(world);
  } catch (const bp::Error&) {
  }
  return 0;
}

// Three ranks reduce. The victim kills itself before the sixth all_reduce, after the other two have
// announced in the store that they wait in it. Ranks ignore SIGTERM, so they end because of what
// they hear from each other, whatever started them.
int reduce_until_killed(int victim) {
  ::signal(SIGTERM, SIG_IGN);
  bp::Communicator world = bp::Communicator::create();
  std::vector<float> data(16);
  try {
    for (int step = 0;; ++step) {
      if (step == 5 && world.rank() == victim) {
        const std::vector<std::string> others{
            bp::concat("comm/under_way/", victim == 0 ? 1 : 0, "."),
            bp::concat("comm/under_way/", victim == 2 ? 1 : 2, ".")};
        world.store()->wait(others, 30s);
        ::raise(SIGKILL);
      }
      bp::all_reduce(world, bp::view(data), {.name = "grads"});
    }
  } catch (const bp::Error& error) {
    std::fprintf(stderr, "rank %d: %s\n", world.rank(), error.what());
    return 70;
  }
}

// Sums until every rank has received a SIGUSR1.
int work(const bp::CommunicatorOptions& options) {
  static volatile std::sig_atomic_t asked = 0;
  ::signal(SIGUSR1, [](int) { asked = 1; });
  bp::Communicator world = bp::Communicator::create(options);
  say("working");
  std::vector<std::int64_t> data(1000, 0);
  while (data[0] != world.size()) {
    data.assign(data.size(), asked);
    bp::all_reduce(world, bp::view(data), {.name = "asked"});
  }
  world.finish();
  return 0;
}

// Rank 0 does something else for `time`, while rank 1 waits for it in a barrier.
int rest(std::chrono::seconds time) {
  bp::Communicator world = bp::Communicator::create();
  bp::barrier(world);
  say("resting");
  if (rank() == 0) std::this_thread::sleep_for(time);
  bp::barrier(world);
  world.finish();
  return 0;
}

// When the job is suspended, ranks 0 and 2 have been waiting in an all_reduce, rank 1 waits in the
// store, and rank 3 waits for SIGUSR1. No wait may take longer than `timeout`.
int be_suspended(std::chrono::milliseconds timeout) {
  static volatile std::sig_atomic_t asked = 0;
  ::signal(SIGUSR1, [](int) { asked = 1; });
  bp::CommunicatorOptions options;
  options.timeout = timeout;
  bp::Communicator world = bp::Communicator::create(options);
  if (rank() == 1) {
    (void)world.store()->get("go on", timeout);
  } else if (rank() == 3) {
    world.store()->wait({{"comm/under_way/0.", "comm/under_way/2."}}, 30s);
    say("waiting");
    while (asked == 0) {
      std::this_thread::sleep_for(1ms);
    }
    world.store()->set("go on", "");
  }
  for (std::int64_t step = 0; step < 100; ++step) {
    std::vector<std::int64_t> data(100'000, step + rank());
    bp::all_reduce(world, bp::view(data), {.name = "grads"});
    if (data != std::vector<std::int64_t>(data.size(), 4 * step + 6)) {
      return 3;
    }
  }
  world.finish();
  say("right");
  return 0;
}

// All ranks sum once. Then the ranks in `ranks` leave without finish(), and the others finish, or
// with `more` start another sum.
int forget_to_finish(const std::string& ranks, bool more) {
  bp::Communicator world = bp::Communicator::create();
  std::vector<float> data(16, 1);
  bp::all_reduce(world, bp::view(data), {.name = "sum"});
  if (ranks.find(static_cast<char>('0' + world.rank())) != std::string::npos) {
    return 0;
  }
  try {
    if (more) {
      bp::all_reduce(world, bp::view(data), {.name = "one more"});
    }
    world.finish();
    return 0;
  } catch (const bp::Error& error) {
    std::fprintf(stderr, "rank %d: %s\n", world.rank(), error.what());
    return 70;
  }
}

// One collective waits for rank 1, and one runs asynchronously.
int be_traced() {
  bp::Communicator world = bp::Communicator::create();
  std::vector<float> data(16);
  if (rank() == 1) {
    std::this_thread::sleep_for(50ms);
  }
  bp::all_reduce(world, bp::view(data), {.name = "first"});
  bp::all_reduce_async(world, bp::view(data), {.name = "second"}).wait();
  world.finish();
  return 0;
}

// Prints the error of binding two sockets to one port.
int bind_twice() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  const int first = ::socket(AF_INET, SOCK_STREAM, 0);
  const int second = ::socket(AF_INET, SOCK_STREAM, 0);
  if (::bind(first, generic, size) == 0 && ::getsockname(first, generic, &size) == 0 &&
      ::bind(second, generic, size) != 0) {
    std::perror("bind");
  }
  return 1;
}

}  // namespace

// Longer than a screen, because it is the list of all commands.
int main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  const std::string argument = argc > 2 ? argv[2] : "";
  if (command == "dump") {
    dump(argument, argc, argv);
    return 0;
  }
  if (command == "exit") {  // RANK CODE
    if (rank() == std::atoi(argv[2])) {
      std::fprintf(stderr, "rank %d has enough\n", rank());
      return std::atoi(argv[3]);
    }
    pause_forever();
  }
  if (command == "signal") {  // RANK NUMBER
    if (rank() == std::atoi(argv[2])) {
      ::signal(std::atoi(argv[3]), SIG_DFL);
      ::raise(std::atoi(argv[3]));
    }
    pause_forever();
  }
  if (command == "family") {
    start_family();
    say("ready");
    pause_forever();
  }
  if (command == "bind") {
    return bind_twice();
  }
  if (command == "allocate") {
    std::vector<char> all(static_cast<std::size_t>(-1) / 4);
    return all.back();
  }
  if (command == "lines") {  // COUNT
    for (int i = 0; i < std::atoi(argv[2]); ++i) {
      std::printf("rank %d line %d\n", rank(), i);
    }
    return 0;
  }
  if (command == "join") {
    return join(argument);
  }
  if (command == "reduce") {  // VICTIM
    return reduce_until_killed(std::atoi(argument.c_str()));
  }
  if (command == "recover") {  // VICTIMS
    return bp::test::recover(argument);
  }
  if (command == "last") {  // OPERATION COUNT
    return bp::test::end_with(argument, static_cast<std::size_t>(std::atoll(argv[3])));
  }
  if (command == "rest") {  // SECONDS
    return rest(std::chrono::seconds(std::atoi(argv[2])));
  }
  if (command == "work") {  // [MILLISECONDS], the timeout
    bp::CommunicatorOptions options;
    if (!argument.empty()) options.timeout = std::chrono::milliseconds(std::atoi(argv[2]));
    return work(options);
  }
  if (command == "be-suspended") {  // MILLISECONDS
    return be_suspended(std::chrono::milliseconds(std::atoi(argv[2])));
  }
  if (command == "traced") {
    return be_traced();
  }
  if (command == "forget") {  // RANKS [more]
    return forget_to_finish(argument, argc > 3);
  }
  if (command == "give-up") {
    return give_up();
  }
  if (command == "give-up-quietly") {
    return give_up_quietly();
  }
  say("ready");
  pause_forever();
}
