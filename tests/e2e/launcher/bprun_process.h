// A running bprun, its output, and its processes, which a mark in their environment identifies.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/system/fd.h"
#include "launcher/process/child.h"

namespace bp::test {

struct BprunInput {
  std::vector<std::string> arguments;
  std::string standard_input = {};
  std::vector<std::string> environment = {};  // NAME=VALUE; replaces variables of this process
  // stdout and stderr are one terminal of 40 columns, and out() returns what bprun sent to it.
  bool terminal = false;
  std::vector<std::string> before = {};  // a command that executes its arguments, such as nsenter
};

class BprunProcess {
 public:
  explicit BprunProcess(const BprunInput& input);

  // Reads until `text` has appeared on stdout or stderr. Returns false if both end first or after
  // 30 s.
  [[nodiscard]] bool wait_for(const std::string& text);
  void signal(int number) const;
  // Reads to the end. Returns bprun's exit code (128 + signal), or -1 after a minute.
  [[nodiscard]] int finish();

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] const std::string& out() const { return out_; }
  [[nodiscard]] const std::string& err() const { return err_; }
  [[nodiscard]] std::string first_error_line() const { return err_.substr(0, err_.find('\n')); }
  // The number of living processes with this run's mark in their environment, including bprun.
  [[nodiscard]] int marked() const;
  // Waits until there are none. Returns the number that is left after 10 s.
  [[nodiscard]] int marked_at_last() const;
  // Waits until exactly `count` of them are stopped by a signal. Returns false after 10 s.
  [[nodiscard]] bool wait_until_stopped(int count) const;

 private:
  bool read_some(std::chrono::milliseconds limit);
  [[nodiscard]] std::vector<pid_t> marked_processes() const;

  std::string mark_;
  Fd out_pipe_;
  Fd err_pipe_;
  std::string out_;
  std::string err_;
  pid_t pid_ = -1;
  std::unique_ptr<launcher::Child> child_;
};

// A command for --ssh that runs the shell commands `before` and then bprun's command on this
// machine.
[[nodiscard]] std::string fake_ssh(const std::string& before);

// The path of the program that tests run as ranks.
[[nodiscard]] std::string rank_program();

// The folder of fake_nvml.cc's library, which LD_LIBRARY_PATH can name to replace real GPUs.
[[nodiscard]] std::string fake_nvml_folder();

}  // namespace bp::test
