// Two hosts behind ssh: sshd of the test's own on this machine, which bprun knows as h1 and h2.
// Names from ssh's configuration are no names of this machine, so they count as other hosts.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <memory>
#include <string>
#include <vector>

#include "launcher/process/child.h"
#include "tests/e2e/launcher/bprun_process.h"
#include "tests/support/scratch.h"

namespace bp::test {

// One sshd on a port of its own; dies with the test.
class Sshd {
 public:
  Sshd(const std::string& folder, const std::string& name);
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] bool listening() const { return listening_; }

 private:
  int port_ = 0;
  bool listening_ = false;
  std::unique_ptr<launcher::Child> child_;
};

// Skips the test where there is no sshd.
class SshTest : public testing::Test {
 protected:
  void SetUp() override;

  [[nodiscard]] std::string folder() const { return scratch_.path(); }  // the test's own
  // bprun, or the tool of it that the first argument names, that reaches h1 and h2.
  [[nodiscard]] BprunProcess run(std::vector<std::string> arguments) const;

  const Scratch scratch_;
  std::unique_ptr<Sshd> h1_;
  std::unique_ptr<Sshd> h2_;

 private:
  void write_client_config() const;
};

void write_file(const std::string& path, const std::string& text, mode_t mode = 0600);

}  // namespace bp::test
