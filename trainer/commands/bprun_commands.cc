// The commands that start bprun: scale and sweep.
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/input_error.h"
#include "base/text.h"
#include "bp/environment.h"
#include "trainer/commands/answer.h"
#include "trainer/commands/commands.h"
#include "trainer/commands/scale_worlds.h"
#include "trainer/common/look_up.h"
#include "trainer/common/stop_signals.h"
#include "trainer/common/whole_file.h"
#include "trainer/report/terminal_width.h"
#include "trainer/runs/estimate.h"
#include "trainer/runs/scaling.h"
#include "trainer/share/temporary_folder.h"
#include "trainer/tasks/inputs.h"
#include "trainer/tasks/tasks.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;

// What a job of bprun may take to end after it was asked to, before it is killed.
constexpr std::chrono::seconds kMostGrace{60};

fs::path this_program() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored);
}

// Returns bprun beside this program, or its name to be looked up in PATH.
std::string bprun_program() {
  std::error_code ignored;
  const fs::path beside = this_program().parent_path() / "bprun";
  return fs::exists(beside, ignored) ? beside.string() : "bprun";
}

// Returns the words as execvp() takes them; they must outlive the result.
std::vector<char*> argv_of(std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return argv;
}

[[noreturn]] void refuse_start(const std::string& program, int error) {
  throw InputError(error == ENOENT ? 127 : 126,
                   concat("cannot start ", program, ": ", error_text(error)),
                   "bprun must be beside bert_train or in PATH");
}

std::string last_lines(const std::string& path) {
  constexpr std::size_t kLines = 15;
  std::ifstream in(path);
  std::deque<std::string> lines;
  for (std::string line; std::getline(in, line); lines.push_back(line)) {
    if (lines.size() == kLines) lines.pop_front();
  }
  std::string text;
  for (const std::string& line : lines) text += concat("  ", line, "\n");
  return text;
}

// Starts a program whose output goes to the file `log`. It has a process group of its own: Ctrl-C
// reaches this process only, which asks the program to end once; a second request would kill it.
pid_t start(std::vector<std::string> words, const std::string& log) {
  const std::vector<char*> argv = argv_of(words);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  pid_t child = -1;
  const int error = ::posix_spawnp(&child, argv[0], &actions, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) refuse_start(words.front(), error);
  return child;
}

// Waits for the end of a child and returns its exit code, or 128 and its signal. Asks it to end
// when this process is asked to, and kills it after kMostGrace.
int wait_for(pid_t child) {
  constexpr std::chrono::milliseconds kLook{50};
  using Clock = std::chrono::steady_clock;
  bool asked = false;
  Clock::time_point killed_at;
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (stop_signal() != 0 && !asked) {
      asked = true;
      killed_at = Clock::now() + kMostGrace;
      ::kill(child, SIGTERM);
    }
    if (asked && Clock::now() > killed_at) ::kill(child, SIGKILL);
    std::this_thread::sleep_for(kLook);
  }
}

MeasuredWorld measure_world(const std::string& world,
                            const ScaleOptions& options,
                            const std::string& folder) {
  const std::string log = folder + "/log";
  const std::string figures = folder + "/figures.json";
  std::vector<std::string> words{bprun_program(),
                                 "-q",
                                 "--prefix",
                                 "none",
                                 "-H",
                                 hosts_of_world(world, options.hosts),
                                 this_program().string(),
                                 "estimate"};
  const std::vector<std::string> own = arguments_of_world(options.training.arguments);
  words.insert(words.end(), own.begin(), own.end());
  words.insert(words.end(), {"--out", figures});
  const int code = wait_for(start(words, log));
  if (stop_signal() != 0) {
    throw Interrupted(concat("stopped on request while measuring the world ", world), "");
  }
  if (code != 0) {
    std::fputs(last_lines(log).c_str(), stderr);
    throw InputError(code, concat("the world ", world, " failed; its last lines are above"), "");
  }
  MeasuredWorld measured = parse_measured_world(text_in(figures));
  measured.name = world;
  return measured;
}

void write_scaling(const std::vector<ScalingRow>& rows, const ScaleOptions& options) {
  if (options.out.empty()) return;
  const TrainOptions& training = options.training;
  write_whole_file(options.out + "/scaling.csv", scaling_csv(rows));
  write_whole_file(options.out + "/scaling.html",
                   scaling_page(rows, concat(training.prepare.source, ", model ", training.model,
                                             ", batches of ", training.batch, " x ",
                                             training.accumulate.first(), " for each rank")));
  print_line("table  " + options.out + "/scaling.csv");
  print_line("page   " + options.out + "/scaling.html");
}

}  // namespace

int run_command(Communicator& world, const ScaleOptions& options) {
  const std::string launcher = Environment::current().launcher;
  if (world.size() > 1 || launcher != "none") {
    throw InputError(
        2, concat("bert_train scale starts its jobs itself, and is part of a job of ", launcher),
        "start it alone; --hosts and --worlds say what it starts");
  }
  if (!options.out.empty()) {
    std::error_code failed;
    fs::create_directories(options.out, failed);
    if (failed) {
      throw InputError(
          2, concat("--out: cannot make the folder ", options.out, ": ", failed.message()),
          "name a folder that you may write");
    }
  }
  std::vector<MeasuredWorld> measured;
  for (const std::string& name : options.worlds) {
    print_line(concat("measuring ", hosts_of_world(name, options.hosts)));
    std::fflush(stdout);
    const TemporaryFolder folder;
    measured.push_back(measure_world(name, options, folder.path()));
  }
  const std::vector<ScalingRow> rows = scaling_rows(measured);
  print_text(terminal_text(scaling_table(rows), {.columns = columns_of_stdout()}));
  write_scaling(rows, options);
  return 0;
}

int run_command(const SweepOptions& options) {
  if (Environment::current().topology.size() > 1) {
    throw InputError(2, "bert_train sweep starts its trials through bprun itself",
                     "run it once, without bprun or another launcher");
  }
  const TrainOptions& training = options.training;
  const MainScore score =
      choose_metric(make_task(*training.task)->metrics(), training.best_metric, training.task_name);
  std::vector<std::string> words{bprun_program(), "sweep"};
  words.insert(words.end(), options.words.begin(), options.words.end());
  words.insert(words.end(),
               {"--metric", concat("dev_", score.key), "--direction",
                score.higher_is_better ? "max" : "min", "--", this_program().string()});
  words.insert(words.end(), training.arguments.begin(), training.arguments.end());
  const std::vector<char*> argv = argv_of(words);
  std::fflush(nullptr);
  ::execvp(argv[0], argv.data());
  refuse_start(words.front(), errno);
}

}  // namespace bp::trainer
