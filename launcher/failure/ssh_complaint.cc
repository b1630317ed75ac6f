#include "launcher/failure/ssh_complaint.h"

#include <array>

#include "base/text.h"

namespace bp::launcher {
namespace {

struct SshTrouble {
  std::string_view sign;
  std::string_view hint;
};

constexpr std::array kSshTroubles{
    SshTrouble{"Temporary failure in name resolution",
               "the name service (DNS) does not answer from here: try again, or name the host in "
               "/etc/hosts"},
    SshTrouble{"Could not resolve hostname",
               "the name is neither in DNS, /etc/hosts nor ssh's configuration"},
    SshTrouble{"Connection refused",
               "no sshd listens there; is it the right port (port=N in a hostfile)?"},
    SshTrouble{"during banner exchange",
               "something accepts connections there, but sshd does not answer: it hangs, or the "
               "host is overloaded"},
    SshTrouble{"Connection timed out", "the host is down, or a firewall is in between"},
    SshTrouble{"No route to host", "the host is down, or a firewall is in between"},
    SshTrouble{"Permission denied",
               "bprun needs a login without password: ssh-copy-id to that host"},
    SshTrouble{"has changed and you have requested strict checking",
               "if that is right, forget the old key: ssh-keygen -R that host"},
    SshTrouble{"Host key verification failed",
               "log in once by hand: ssh asks about the host's key"},
    SshTrouble{"kex_exchange_identification",
               "sshd there takes no more logins at a time: fewer hosts at once, or a higher "
               "MaxStartups in its sshd_config"},
    SshTrouble{"DUE TO TIME LIMIT", "Slurm's time limit (--time) has ended the job or its step"},
    SshTrouble{"CANCELLED AT", "scancel has ended the job or its step"},
};

}  // namespace

SshComplaint complaint_of(const std::vector<std::string>& lines) {
  for (const SshTrouble& trouble : kSshTroubles) {
    for (const std::string& line : lines) {
      if (line.find(trouble.sign) != std::string::npos) {
        return {line, trouble.hint};
      }
    }
  }
  std::string all;
  for (const std::string& line : lines) {
    all += concat(all.empty() ? "" : "; ", line);
  }
  return {all, ""};
}

std::string shell_hint(const std::string& host) {
  return concat(
      "what a login shell reads there first (~/.bashrc, /etc/profile) must neither end "
      "it, nor print, nor read its input: ssh ",
      host, " true must do nothing");
}

}  // namespace bp::launcher
