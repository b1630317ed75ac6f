// Hosts of a test's own: namespaces of this machine with an sshd each (tests/hosts/with_hosts).
// bprun runs on another one, head, from which `-H a:3,b:1` leads to them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "launcher/process/child.h"
#include "tests/e2e/launcher/bprun_process.h"

namespace bp::test {

class Hosts {
 public:
  // Makes them; where that is impossible, missing() says why.
  explicit Hosts(const std::vector<std::string>& names);
  ~Hosts();  // with everything that runs on them
  Hosts(const Hosts&) = delete;
  Hosts& operator=(const Hosts&) = delete;

  [[nodiscard]] const std::string& missing() const { return missing_; }
  // Where the keys and configurations of ssh are, on every host.
  [[nodiscard]] const std::string& folder() const { return folder_; }
  // What stands before a command that is to run on a host, or on head.
  [[nodiscard]] std::vector<std::string> on(const std::string& host) const;
  // Runs a shell command on a host, or on head; the test fails if it does.
  void at(const std::string& host, const std::string& command) const;
  // The names of the processes on a host, but for its first one and sshd's.
  [[nodiscard]] std::vector<std::string> processes(const std::string& host) const;
  // Waits until there are none, for longer than an agent waits for its launcher; those left then.
  [[nodiscard]] std::vector<std::string> processes_at_last(const std::string& host) const;

 private:
  [[nodiscard]] std::string pid_of(const std::string& host) const;

  std::string missing_;
  std::string folder_;
  Fd input_;  // when this closes the script ends, and cleans up: so too when we are killed
  std::unique_ptr<launcher::Child> script_;
};

// Three hosts, a to c. Skips the test where there are none; after it, nothing may be left on them.
class HostsTest : public testing::Test {
 protected:
  HostsTest() : hosts_({"a", "b", "c"}) {}
  void SetUp() override;
  void TearDown() override;

  // bprun on head. A shell there runs `before` first, for what bprun is to inherit.
  [[nodiscard]] BprunProcess run(std::vector<std::string> arguments,
                                 const std::string& before = ":") const;
  // Whether each of so many ranks has said that word, on a line of its own.
  [[nodiscard]] static bool all_say(BprunProcess& bprun, int ranks, const std::string& word);
  void expect_nobody_on(const std::vector<std::string>& names) const;
  [[nodiscard]] const Hosts& hosts() const { return hosts_; }

 private:
  Hosts hosts_;
};

}  // namespace bp::test
