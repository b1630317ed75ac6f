#include "tests/support/run_processes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <regex>

#include "base/deadline.h"
#include "base/keys/job_key.h"
#include "base/system/fd.h"
#include "base/text.h"
#include "bp/error.h"
#include "comm/store/server.h"

namespace bp::test {
namespace {

constexpr const char* kBodyVariable = "BP_TEST_RANK_BODY";
constexpr std::chrono::seconds kKilledWithin{10};

std::map<std::string, std::function<int()>>& bodies() {
  static std::map<std::string, std::function<int()>> known;
  return known;
}

int run_body(const std::string& name) {
  const auto found = bodies().find(name);
  if (found == bodies().end()) {
    std::cerr << "there is no rank body " << name << "\n";
    return 2;
  }
  try {
    const int code = found->second();
    return testing::UnitTest::GetInstance()->ad_hoc_test_result().Failed() ? 3 : code;
  } catch (const Error& error) {
    std::cerr << name_of(error.code()) << ": " << error.what() << "\n";
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
  }
  return 1;
}

// One child process and its output.
struct Child {
  pid_t pid = -1;
  Fd output;
  bool ended = false;
  ProcessResult result;
};

std::vector<std::string> environment_of(int rank,
                                        const ProcessesOptions& options,
                                        const std::string& store,
                                        int key_fd,
                                        const std::string& body) {
  std::string sizes;
  for (const int size : options.local_sizes) sizes += concat(sizes.empty() ? "" : ",", size);
  std::vector<std::string> variables = {
      concat("RANK=", rank),
      concat("WORLD_SIZE=", options.ranks),
      concat("BP_STORE=", store),
      "BP_JOB=test",
      concat("BP_KEY_FD=", key_fd),
      concat(kBodyVariable, "=", body),
      concat("BP_LOCAL_SIZES=", sizes.empty() ? concat(options.ranks) : sizes)};
  for (char** inherited = environ; *inherited != nullptr; ++inherited) {
    variables.emplace_back(*inherited);
  }
  // getenv() returns the first entry of a name, so the variables that a test asks for come first.
  variables.insert(variables.begin(), options.environment.begin(), options.environment.end());
  return variables;
}

Child start(const std::vector<std::string>& environment, int key_fd) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2: " + error_text(errno));
  Child child;
  child.output = Fd(ends[0]);
  const Fd write_end(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDERR_FILENO);
  // clears FD_CLOEXEC, so that the child keeps it
  ::posix_spawn_file_actions_adddup2(&actions, key_fd, key_fd);
  std::vector<char*> variables;
  for (const std::string& text : environment) variables.push_back(const_cast<char*>(text.c_str()));
  variables.push_back(nullptr);
  char program[] = "/proc/self/exe";
  char* arguments[] = {program, nullptr};
  const int error =
      ::posix_spawn(&child.pid, program, &actions, nullptr, arguments, variables.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("posix_spawn: " + error_text(error));
  return child;
}

void collect(Child& child, std::chrono::steady_clock::time_point since) {
  char text[4096];
  const ssize_t got = ::read(child.output.get(), text, sizeof(text));
  if (got > 0) {
    child.result.output.append(text, static_cast<std::size_t>(got));
    return;
  }
  int status = 0;
  // the child has closed its last descriptor, so it has ended or is about to
  ::waitpid(child.pid, &status, 0);
  child.ended = true;
  child.result.ended_after = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - since);
  child.result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  child.result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

void watch(std::vector<Child>& children,
           const ProcessesOptions& options,
           std::unique_ptr<StoreServer>& server) {
  auto since = std::chrono::steady_clock::now();
  Deadline limit(options.limit);
  bool killed = options.victim < 0;
  for (;;) {
    std::vector<pollfd> waiting;
    std::vector<Child*> waiting_children;
    for (Child& child : children) {
      if (child.ended) continue;
      waiting.push_back({child.output.get(), POLLIN, 0});
      waiting_children.push_back(&child);
    }
    if (waiting.empty()) return;
    const bool ends_store = options.store == ProcessesOptions::StoreTrouble::ends;
    if (waiting.size() == 1 && options.victim >= 0 && !ends_store) {
      const Child& victim = children[static_cast<std::size_t>(options.victim)];
      if (!victim.ended) ::kill(victim.pid, SIGKILL);
    }
    if (::poll(waiting.data(), waiting.size(), static_cast<int>(limit.left().count())) == 0) {
      limit = Deadline(kKilledWithin);
      for (Child* child : waiting_children) {
        ADD_FAILURE() << "rank " << child - children.data() << " did not end in time. Its output:\n"
                      << child->result.output;
        ::kill(child->pid, SIGKILL);
      }
    }
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].revents != 0) collect(*waiting_children[i], since);
    }
    if (killed) continue;
    Child& victim = children[static_cast<std::size_t>(options.victim)];
    if (victim.result.output.find("ready") == std::string::npos) continue;
    killed = true;
    since = std::chrono::steady_clock::now();
    if (ends_store) {
      server.reset();
    } else {
      ::kill(victim.pid, options.victim_signal);
    }
  }
}

}  // namespace

RankBody::RankBody(std::string name, std::function<int()> body) {
  bodies().emplace(std::move(name), std::move(body));
}

std::string ProcessResult::error() const {
  static const std::regex log_line("[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3} [DIWE] [^\n]*\n");
  return std::regex_replace(output, log_line, "");
}

std::vector<ProcessResult> try_processes(const std::string& body, const ProcessesOptions& options) {
  StoreServerOptions server_options;
  server_options.job = "test";
  server_options.key = random_job_key();
  server_options.world_size = options.ranks;
  server_options.survivors_go_on = options.survivors_go_on;
  std::promise<void> over;
  const auto listen = [silent = options.store == ProcessesOptions::StoreTrouble::falls_silent,
                       until = over.get_future().share()](const StoreEvent& event) {
    // A server does nothing else while its listener runs.
    if (silent && event.kind == StoreEvent::Kind::stop_requested) until.wait();
  };
  auto server = std::make_unique<StoreServer>(server_options, listen);
  const Fd key = share_job_key(server_options.key);
  std::vector<Child> children;
  for (int rank = 0; rank < options.ranks; ++rank) {
    children.push_back(
        start(environment_of(rank, options, server->address().text(), key.get(), body), key.get()));
  }
  watch(children, options, server);
  over.set_value();
  std::vector<ProcessResult> results;
  for (Child& child : children) results.push_back(std::move(child.result));
  return results;
}

void run_processes(const std::string& body, const ProcessesOptions& options) {
  const auto results = try_processes(body, options);
  for (std::size_t rank = 0; rank < results.size(); ++rank) {
    EXPECT_EQ(results[rank].exit_code, 0)
        << "rank " << rank << " (signal " << results[rank].signal << "):\n"
        << results[rank].output;
  }
}

}  // namespace bp::test

// Replaces GoogleTest's main(): a child process runs its body instead of the tests.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (const char* const body = std::getenv(bp::test::kBodyVariable)) {
    return bp::test::run_body(body);
  }
  return RUN_ALL_TESTS();
}
