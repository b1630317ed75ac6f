#include "trainer/share/shared_data.h"

#include <chrono>

#include "base/check.h"
#include "base/text.h"
#include "bp/collective.h"
#include "trainer/data/input_error.h"
#include "trainer/data/plan.h"
#include "trainer/data/prepare.h"
#include "trainer/run/store_users.h"
#include "trainer/share/stage.h"

namespace bp::trainer {
namespace {

// For at most this time ranks wait for others to prepare. The death of a preparer is noticed long
// before, by its lease and by the job's store.
constexpr std::chrono::hours kPrepareTimeout{24};

PrepareOptions prepare_options(const Options& options) {
  PrepareOptions result = options.prepare;
  result.source = options.data;
  result.seed = options.seed;
  result.needed_by = run_that_needs;
  if (options.action == Action::train && !options.fast_dev_run) result.run = options.run;
  return result;
}

// Prepares the store at `path` unless `options` name a store, reads all of it and returns its
// identity.
std::string make_store(const Options& options, const std::string& path, const Say& say) {
  if (!options.data_is_store) {
    (void)prepare(prepare_options(options), say);
  } else if (options.prepare.rebuild) {
    throw InputError(2, concat("--rebuild needs the text file, and ", path, " is a store"),
                     "give the text file that it came from, and name the store with --store");
  }
  const SampleStore store = SampleStore::open(path);
  store.verify();
  return store.identity();
}

// The same on a leader that is not rank 0. The error for a missing file names the host.
std::string make_store_there(const Topology& topology,
                             const Options& options,
                             const std::string& path) {
  try {
    return make_store(options, path, [](const std::string&) {});
  } catch (const InputError& error) {
    constexpr int kNotThere = 66;
    if (error.exit_code() != kNotThere) throw;
    throw InputError(kNotThere,
                     concat("on ", topology.host_name(topology.host()), ", ", error.what()),
                     "copy it there, or let rank 0 send its store to all hosts with --stage");
  }
}

void compare_identities(Communicator& world, const std::string& identity) {
  const auto all = all_gather_object(world, identity, {.name = "store identity"});
  for (int rank = 0; rank < world.size(); ++rank) {
    if (all[static_cast<std::size_t>(rank)] == all.front()) continue;
    const Topology& topology = world.topology();
    throw InputError(
        65,
        concat("the store of ", topology.host_name(topology.place_of(rank).host), " (rank ", rank,
               ") does not hold the same samples as that of ", topology.host_name(0), " (rank 0)"),
        "copy one store to every host, or let rank 0 send its own to all with --stage");
  }
}

}  // namespace

bool is_store_everywhere(Communicator& world, const std::string& data) {
  if (!is_store_name(data)) return false;
  std::string kind = is_store(data) ? "store" : "";
  broadcast_object(world, kind, {.name = "kind of the data"});
  return !kind.empty();
}

std::string prepare_everywhere(Communicator& world, const Options& options, const Say& say) {
  const CollectiveOptions patient{.name = "store prepared", .timeout = kPrepareTimeout};
  const Topology& topology = world.topology();
  std::string path = options.data_is_store ? options.data : store_path(prepare_options(options));
  std::string identity;
  if (world.rank() == 0) {
    identity = make_store(options, path, say);
  } else if (topology.local_rank() == 0 && !options.stage) {
    identity = make_store_there(topology, options, path);
  }
  barrier(world, patient);
  if (options.stage) stage_store(world, path, say);
  if (identity.empty()) identity = SampleStore::open(path).identity();
  compare_identities(world, identity);
  return path;
}

}  // namespace bp::trainer
