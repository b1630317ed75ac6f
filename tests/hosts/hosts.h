// Hosts for a test: namespaces of this machine, each with its own sshd (tests/hosts/with_hosts).
// bprun runs on one more host, called head, and reaches them by `-H a:3,b:1`.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/system/fd.h"
#include "launcher/process/child.h"
#include "tests/e2e/launcher/bprun_process.h"

namespace bp::test {

class Hosts {
 public:
  // Makes the hosts, with options of with_hosts. If that is impossible, missing() says why.
  explicit Hosts(const std::vector<std::string>& names,
                 const std::vector<std::string>& options = {});
  ~Hosts();  // ends everything that runs on them
  Hosts(const Hosts&) = delete;
  Hosts& operator=(const Hosts&) = delete;

  [[nodiscard]] const std::string& missing() const { return missing_; }
  // The folder of ssh's keys and configurations. All hosts have it.
  [[nodiscard]] const std::string& folder() const { return folder_; }
  // The words before a command that make it run on `host`, which may be head.
  [[nodiscard]] std::vector<std::string> on(const std::string& host) const;
  // Runs a shell command on `host`, which may be head. The test fails if the command fails.
  void at(const std::string& host, const std::string& command) const;
  // The names of the processes on `host`, except its first one and those of sshd.
  [[nodiscard]] std::vector<std::string> processes(const std::string& host) const;
  // Waits up to 20 s, which is longer than an agent waits for its launcher, until there are none.
  // Returns those that are left.
  [[nodiscard]] std::vector<std::string> processes_at_last(const std::string& host) const;

 private:
  [[nodiscard]] std::string pid_of(const std::string& host) const;

  std::string missing_;
  std::string folder_;
  // The script ends and cleans up when this closes, which happens even if this process is killed.
  Fd input_;
  std::unique_ptr<launcher::Child> script_;
};

// Three hosts, a to c, with options of with_hosts. Skips the test if this machine cannot make them.
// After the test, no process may be left on them.
class HostsTest : public testing::Test {
 protected:
  explicit HostsTest(const std::vector<std::string>& options = {})
      : hosts_({"a", "b", "c"}, options) {}
  void SetUp() override;
  void TearDown() override;

  // Starts bprun on head. A shell runs `before` first, to set what bprun inherits.
  [[nodiscard]] BprunProcess run(std::vector<std::string> arguments,
                                 const std::string& before = ":") const;
  // Waits until each of `ranks` ranks has printed `word` on its own line. Returns false if one does
  // not.
  [[nodiscard]] static bool all_say(BprunProcess& bprun, int ranks, const std::string& word);
  void expect_no_process_on(const std::vector<std::string>& names) const;
  [[nodiscard]] const Hosts& hosts() const { return hosts_; }

 private:
  Hosts hosts_;
};

}  // namespace bp::test
