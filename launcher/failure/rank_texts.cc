#include "launcher/failure/rank_texts.h"

#include <sys/wait.h>

#include "base/quoted.h"
#include "base/text.h"
#include "launcher/hosts/rank_list.h"
#include "launcher/process/signals.h"
#include "launcher/report/exit_code.h"

namespace bp::launcher {
namespace {

constexpr const char* kFinishHint =
    "write world.finish(); on every rank, after its last collective and before each return of "
    "main()";

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

Failure failure_of(const RootCause& root_cause, const std::string& name) {
  Failure failure{.exit_code = kExitInternal, .rank = root_cause.rank, .headline = ""};
  switch (root_cause.kind) {
    case RootCause::Kind::ended:
      failure.exit_code = exit_code_of(root_cause.status);
      failure.headline = concat(name, " ", describe_status(root_cause.status));
      break;
    case RootCause::Kind::left:
      failure.headline =
          concat(name, " exited without world.finish() while other ranks were running");
      failure.hint = kFinishHint;
      break;
    case RootCause::Kind::lost_store:
      failure.headline =
          concat(name, " closed its connection to the job's store, but kept running");
      break;
    case RootCause::Kind::declared:
      failure.headline =
          concat(name, " declared the job failed: ", quoted_line(root_cause.declared));
      break;
    case RootCause::Kind::consequence:
      if (root_cause.status != 0) {
        failure.exit_code = exit_code_of(root_cause.status);
      }
      failure.headline = concat(
          name,
          root_cause.status == 0 ? " gave up" : concat(" ", describe_status(root_cause.status)),
          root_cause.because_of < 0
              ? std::string(" because it lost the job's store")
              : concat(" because of rank ", root_cause.because_of,
                       root_cause.cause_has_ended ? ", which had ended" : ", which still ran"),
          root_cause.declared.empty() ? "" : concat(": ", quoted_line(root_cause.declared)));
      break;
  }
  return failure;
}

std::string left_silently(const std::vector<int>& ranks) {
  return concat("bprun: warning: ", ranks.size() == 1 ? "rank " : "ranks ", rank_ranges(ranks),
                " exited without world.finish(), which fails the job if another rank is still "
                "running; ",
                kFinishHint);
}

}  // namespace bp::launcher
