#include "launcher/agent/ssh_command.h"

#include <filesystem>

#include "base/text.h"
#include "launcher/process/shell_words.h"

namespace bp::launcher {

std::vector<std::string> agent_command(const std::vector<std::string>& ssh,
                                       const Host& host,
                                       const std::string& remote_bprun,
                                       std::chrono::milliseconds lost_after) {
  std::vector<std::string> command = ssh;
  if (std::filesystem::path(ssh.front()).filename() == "ssh") {
    // --lost-after decides when a silent host is lost. TCP, and so ssh, may hear nothing for twice
    // that time although the network is back, so ssh gives up only after three times.
    // With VERBOSE, ssh reports a successful login. The last three replace what the user's
    // configuration may say for logins by hand: a port that is forwarded twice ends the second ssh,
    // and the others keep the agent from starting.
    const auto alive = std::chrono::ceil<std::chrono::seconds>(lost_after / 3).count();
    for (const std::string& option :
         {std::string("BatchMode=yes"), std::string("ConnectTimeout=10"),
          concat("ServerAliveInterval=", alive), std::string("ServerAliveCountMax=9"),
          std::string("LogLevel=VERBOSE"), std::string("ClearAllForwardings=yes"),
          std::string("RemoteCommand=none"), std::string("StdinNull=no")}) {
      command.insert(command.end(), {"-o", option});
    }
    command.emplace_back("-T");
  }
  if (host.port) {
    command.insert(command.end(), {"-p", std::to_string(*host.port)});
  }
  if (!host.user.empty()) {
    command.insert(command.end(), {"-l", host.user});
  }
  command.push_back(host.name);
  command.push_back(concat(quote_shell_word(remote_bprun), " --agent"));
  return command;
}

std::vector<std::string> srun_command(const Host& host, const std::string& remote_bprun) {
  // An agent reads bprun's address from SSH_CONNECTION. srun would pass on that of the user's
  // login.
  std::vector<std::string> command{"srun",
                                   "--overlap",
                                   "--nodes=1",
                                   "--ntasks=1",
                                   "--nodelist=" + host.name,
                                   "--cpu-bind=none",
                                   "--mpi=none",
                                   "--unbuffered"};
  if (host.component) command.push_back(concat("--het-group=", *host.component));
  command.insert(command.end(), {"env", "-u", "SSH_CONNECTION", remote_bprun, "--agent"});
  return command;
}

}  // namespace bp::launcher
