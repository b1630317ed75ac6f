#include "launcher/job/job_texts.h"

#include <sys/wait.h>

#include <array>
#include <string_view>

#include "comm/base/text.h"
#include "launcher/job/other_options.h"
#include "launcher/process/signals.h"
#include "launcher/report/exit_code.h"
#include "launcher/report/likely_cause.h"
#include "launcher/report/quoted.h"
#include "launcher/report/rank_list.h"

namespace bp::launcher {
namespace {

constexpr const char* kFinishHint =
    "write world.finish(); on every rank, after its last collective and before each return of "
    "main()";
constexpr std::size_t kMostOfAVersion = 40;

struct SshTrouble {
  std::string_view sign;
  std::string_view hint;
};

constexpr std::array kSshTroubles{
    SshTrouble{"Could not resolve hostname",
               "the name is neither in DNS, /etc/hosts nor ssh's configuration"},
    SshTrouble{"Connection refused",
               "no sshd listens there; is it the right port (port=N in a hostfile)?"},
    SshTrouble{"Connection timed out", "the host is down, or a firewall is in between"},
    SshTrouble{"No route to host", "the host is down, or a firewall is in between"},
    SshTrouble{"Permission denied",
               "bprun needs a login without password: ssh-copy-id to that host"},
    SshTrouble{"has changed and you have requested strict checking",
               "if that is right, forget the old key: ssh-keygen -R that host"},
    SshTrouble{"Host key verification failed",
               "log in once by hand: ssh asks about the host's key"},
};

struct SshComplaint {
  std::string text;  // the one line that tells, or all
  std::string_view hint;
};

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

}  // namespace

int exit_code_of(int status) {
  return WIFSIGNALED(status) ? kExitSignal + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string describe_status(int status) {
  if (!WIFSIGNALED(status)) {
    return concat("exited with code ", WEXITSTATUS(status));
  }
  return concat("was killed by signal ", WTERMSIG(status), " (", signal_name(WTERMSIG(status)),
                ")");
}

std::string describe_rank(const std::vector<PlacedHost>& placement, int rank, int pid) {
  const PlacedHost& placed = placement[host_of_rank(placement, rank)];
  const std::string process = pid > 0 ? concat(", pid ", pid) : "";
  return concat("rank ", rank, " on ", placed.host.name, " (local rank ", rank - placed.first_rank,
                process, ")");
}

Failure failure_of(const Verdict& verdict, const std::string& who) {
  Failure failure{.exit_code = kExitInternal, .rank = verdict.rank, .headline = ""};
  switch (verdict.kind) {
    case Verdict::Kind::ended:
      failure.exit_code = exit_code_of(verdict.status);
      failure.headline = concat(who, " ", describe_status(verdict.status));
      break;
    case Verdict::Kind::left:
      failure.headline =
          concat(who, " exited without world.finish() while other ranks were at work");
      failure.hint = kFinishHint;
      break;
    case Verdict::Kind::lost_store:
      failure.headline = concat(who, " closed its connection to the job's store, but ran on");
      break;
    case Verdict::Kind::declared:
      failure.headline = concat(who, " declared the job failed: ", quoted_line(verdict.declared));
      break;
    case Verdict::Kind::consequence:
      if (verdict.status != 0) {
        failure.exit_code = exit_code_of(verdict.status);
      }
      failure.headline = concat(
          who, verdict.status == 0 ? " gave up" : concat(" ", describe_status(verdict.status)),
          verdict.because_of < 0
              ? std::string(" because it lost the job's store")
              : concat(" because of rank ", verdict.because_of,
                       verdict.cause_has_ended ? ", which had ended" : ", which still ran"),
          verdict.declared.empty() ? "" : concat(": ", quoted_line(verdict.declared)));
      break;
  }
  return failure;
}

Failure failure_of(const StartFailed& message,
                   const std::string& host,
                   const std::string& program) {
  const std::string what = message.exit_code == kExitNotFound        ? "was not found"
                           : message.exit_code == kExitNotExecutable ? "cannot be executed"
                                                                     : "cannot be started";
  return {.exit_code = message.exit_code,
          .rank = -1,
          .headline = concat(program, " ", what, " on ", host, ": ", quoted_line(message.problem)),
          .hint = message.exit_code == kExitNotFound
                      ? advice_for_program(program)
                      : likely_cause({.last_errors = {message.problem}})};
}

Failure unreachable(const std::string& host,
                    const LinkLoss& loss,
                    const std::string& remote_bprun) {
  auto [complaint, hint] = complaint_of(loss.errors);
  if (complaint.empty()) {
    complaint = loss.problem.empty() ? describe_status(loss.status) : loss.problem;
  }
  const int code = exit_code_of(loss.status);
  if (code == kExitNotFound || code == kExitNotExecutable) {
    return {
        .exit_code = kExitTemporary,
        .rank = -1,
        .headline = concat("there is no ", remote_bprun, " on ", host, ": ", complaint),
        .hint = "install the same build at the same path there, or name it: --remote-bprun PATH"};
  }
  return {.exit_code = kExitTemporary,
          .rank = -1,
          .headline = concat("host ", host, " could not be reached: ", complaint),
          .hint = std::string(hint)};
}

Failure lost_after_hello(const std::string& host, const LinkLoss& loss, bool local) {
  std::string why = loss.problem;
  for (const std::string& line : loss.errors) {
    why += concat(why.empty() ? "" : "; ", line);
  }
  if (why.empty()) {
    why = concat(local ? "bprun's agent there " : "its ssh ", describe_status(loss.status));
  }
  return {.exit_code = local ? kExitInternal : kExitTemporary,
          .headline = concat("host ", host, " was lost (", why, ")")};
}

std::string left_silently(const std::vector<int>& ranks) {
  return concat(
      "bprun: warning: ", ranks.size() == 1 ? "rank " : "ranks ", rank_ranges(ranks),
      " exited without world.finish(), which fails the job where another rank is still at "
      "work; ",
      kFinishHint);
}

std::string version_trouble(const std::string& host, const Hello& theirs, const Hello& ours) {
  if (theirs.protocol == ours.protocol && theirs.version == ours.version) {
    return "";
  }
  return concat("host ", host, " has bprun ", quoted_line(theirs.version, kMostOfAVersion),
                " (build ", quoted_line(theirs.build.substr(0, 12)), "), here it is ", ours.version,
                " (build ", ours.build.substr(0, 12), "): install the same on both");
}

}  // namespace bp::launcher
