#include "launcher/cli/check_joining.h"

#include "base/refuse.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp::launcher {

void check_joining(const Options& options) {
  if (!options.serve_port && !options.join) return;
  if (options.serve_port && options.join) refuse("give only one of --serve and --join");
  const std::string mode = options.serve_port ? "--serve" : "--join";
  if (options.host_list || options.hostfile || options.host_map || options.selection.include ||
      options.selection.exclude) {
    refuse(concat(
        mode,
        " cannot be combined with -H, --hostfile, --hosts, --include and --exclude: the hosts "
        "are those that join"));
  }
  if (options.join && options.dry_run) {
    refuse(
        "--join cannot be combined with --dry-run: only the server knows what will be started; run "
        "--dry-run there");
  }
  if (options.max_restarts > 0) {
    refuse(
        concat(mode,
               " cannot be combined with --max-restarts: after a failure the machines would have "
               "to join again"));
  }
  if (options.serve_port && (*options.serve_port < 0 || *options.serve_port > 65535)) {
    refuse(concat("--serve must be a port from 0 to 65535, not ", *options.serve_port));
  }
  if (options.serve_port && !options.ranks) {
    refuse("--serve needs -n, the number of ranks of the job");
  }
  const int least = options.serve_port ? 0 : 1;
  if (options.slots < least || options.slots > kMaxSlots) {
    refuse(concat("--slots must be from ", least, " to ", kMaxSlots, ", not ", options.slots));
  }
  if (options.first_rank && (*options.first_rank < 0 || options.slots == 0)) {
    refuse("--first-rank must be 0 or more, and needs --slots 1 or more");
  }
}

}  // namespace bp::launcher
