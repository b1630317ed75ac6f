#include "comm/rendezvous/store_rendezvous.h"

#include <algorithm>
#include <chrono>

#include "base/hex.h"
#include "base/keys/job_key.h"
#include "base/text.h"
#include "bp/error.h"
#include "comm/rendezvous/channels.h"
#include "comm/topology/store_address.h"

namespace bp {
namespace {

// torchrun's agent serves a store only if it sets this variable to True. Otherwise it expects rank
// 0 to serve one.
bool torchrun_has_a_store(const LaunchedRank& rank, const Variables& variables) {
  return rank.launcher == "torchrun" && variables.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
}

}  // namespace

std::string to_text(const StoreEndpoint& endpoint) {
  return concat(endpoint.store.text(), "/", to_hex(endpoint.key));
}

StoreEndpoint parse_endpoint(const std::string& text) {
  StoreEndpoint endpoint;
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos ||
      !parse_hex(std::string_view(text).substr(slash + 1), endpoint.key)) {
    throw Error(ErrorCode::invalid_argument,
                "the published address of the job's store has no key of 64 hexadecimal digits");
  }
  endpoint.store = parse_store_address(text.substr(0, slash));
  return endpoint;
}

StoreRendezvous::Known StoreRendezvous::known() const { return {.key = random_job_key()}; }

StoreCaller StoreRendezvous::caller(int rank) const {
  return {.name = concat("rank ", rank),
          .server = "rank 0",
          .address = "the address that rank 0 published",
          .job = "the launcher's job",
          .key = "the key that it published"};
}

StoreAddress master_address(const LaunchedRank& rank, const Variables& variables) {
  if (rank.master_host.empty()) {
    variables.refuse("MASTER_ADDR",
                     "is not set, and neither is MASTER_PORT; set both to the address at which "
                     "rank 0 is to serve the job's store");
  }
  const bool v6 = rank.master_host.find(':') != std::string::npos;
  const std::string text =
      concat(v6 ? "[" : "", rank.master_host, v6 ? "]:" : ":", rank.master_port);
  try {
    return parse_store_address(text);
  } catch (const Error& error) {
    throw Error(error.code(), concat("MASTER_ADDR and MASTER_PORT, ", text, ": ", error.what()));
  }
}

std::unique_ptr<StoreRendezvous> choose_rendezvous(const LaunchedRank& rank,
                                                   const Variables& variables) {
  if (variables.has("BP_JOB_KEY_FILE")) return rendezvous_by_key_file(rank, variables);
  if (variables.has("BP_SHARED_FOLDER")) {
    return rendezvous_in_folder(variables.text("BP_SHARED_FOLDER"), rank);
  }
  const bool speaks_pmi =
      rank.launcher == "mpich" || rank.launcher == "slurm" || rank.launcher == "pmi";
  if (speaks_pmi && variables.has("PMI_FD")) return rendezvous_by_pmi(rank, variables);
  if (torchrun_has_a_store(rank, variables)) return rendezvous_by_torchrun(rank, variables);
  if (rank.one_host) return rendezvous_in_folder("", rank);
  throw Error(
      ErrorCode::unavailable,
      concat(rank.found_by, ": the launcher ", rank.launcher, " started ", rank.size,
             " ranks, maybe on several hosts, and gives them no way to find the job's store. Use "
             "one of these: BP_SHARED_FOLDER, a folder that all hosts share; "
             "BP_JOB_KEY_FILE, a secret file that is on all hosts, with MASTER_ADDR and "
             "MASTER_PORT on the host of rank 0; srun --mpi=pmi2; torchrun; or bprun"));
}

FoundStore find_store(StoreRendezvous& rendezvous,
                      const LaunchedRank& rank,
                      const Deadline& deadline) {
  using std::chrono::milliseconds;
  // Grows, because a busy host may take longer to answer.
  for (milliseconds patience{200};; patience *= 2) {
    FoundStore found{rendezvous.look_up(deadline), nullptr};
    const bool stale = rendezvous.may_be_stale();
    const milliseconds left = std::chrono::duration_cast<milliseconds>(deadline.left());
    try {
      found.store = connect_store({.address = found.endpoint.store,
                                   .job = rank.job,
                                   .key = found.endpoint.key,
                                   .connect_timeout = stale ? std::min(patience, left) : left},
                                  rendezvous.caller(rank.rank));
      return found;
    } catch (const Error&) {
      if (!stale || deadline.passed()) throw;
    }
  }
}

}  // namespace bp
