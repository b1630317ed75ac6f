// Two hosts behind ssh: two sshd that the test starts on this machine, which bprun reaches as h1
// and h2. bprun takes them for other hosts, because only ssh's configuration knows these names.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <memory>
#include <string>
#include <vector>

#include "base/system/fd.h"
#include "launcher/process/child.h"
#include "tests/e2e/launcher/bprun_process.h"
#include "tests/support/scratch.h"

namespace bp::test {

// An sshd on its own port, which stays reserved when the server has stopped.
class Sshd {
 public:
  Sshd(const std::string& folder, const std::string& name);
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] bool listening() const { return listening_; }
  void stop() { child_.reset(); }

 private:
  Fd reserved_;
  int port_;
  bool listening_ = false;
  std::unique_ptr<launcher::Child> child_;
};

// Skips the test if sshd is not installed.
class SshTest : public testing::Test {
 protected:
  void SetUp() override;

  [[nodiscard]] std::string folder() const { return scratch_.path(); }  // of this test
  // Starts bprun, or its tool that the first argument names, with an ssh that reaches h1 and h2.
  [[nodiscard]] BprunProcess run(std::vector<std::string> arguments) const;

  const Scratch scratch_;
  std::unique_ptr<Sshd> h1_;
  std::unique_ptr<Sshd> h2_;

 private:
  void write_client_config() const;
};

void write_file(const std::string& path, const std::string& text, mode_t mode = 0600);

}  // namespace bp::test
