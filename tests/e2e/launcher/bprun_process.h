// A running bprun, its output, and the processes that carry its mark.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "launcher/process/child.h"

namespace bp::test {

struct BprunInput {
  std::vector<std::string> arguments;
  std::string standard_input = {};
  std::vector<std::string> environment = {};  // NAME=VALUE, over our own
  bool terminal = false;  // stdout and stderr are one, of 40 columns; out() is what it was sent
  std::vector<std::string> before = {};  // a command that becomes the one after it: nsenter
};

class BprunProcess {
 public:
  explicit BprunProcess(const BprunInput& input);

  // Reads until `text` has appeared on stdout or stderr; false after 30 s.
  [[nodiscard]] bool wait_for(const std::string& text);
  void signal(int number) const;
  // Reads to the end; bprun's exit code (128 + signal), or -1 after a minute.
  [[nodiscard]] int finish();

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] const std::string& out() const { return out_; }
  [[nodiscard]] const std::string& err() const { return err_; }
  [[nodiscard]] std::string first_error_line() const { return err_.substr(0, err_.find('\n')); }
  // Living processes that were started with this run's mark in their environment, bprun included.
  [[nodiscard]] int marked() const;
  // Waits until there are none; the number that is left after 10 s.
  [[nodiscard]] int marked_at_last() const;
  // Waits until so many of them are stopped by a signal; false after 10 s.
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

// A stand-in for ssh, for --ssh: runs the command here, after the shell commands `before`.
[[nodiscard]] std::string fake_ssh(const std::string& before);

// The helper program's path.
[[nodiscard]] std::string rank_program();

// For LD_LIBRARY_PATH: has the GPUs of fake_nvml.cc in place of real ones.
[[nodiscard]] std::string fake_nvml_folder();

}  // namespace bp::test
