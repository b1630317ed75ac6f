#include "trainer/share/shared_data.h"

#include <chrono>
#include <filesystem>

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

struct MadeStore {
  std::string path = {};
  std::string identity = {};
};

// Prepares the store unless it is there, and reads all of it.
MadeStore make_store(const JobData& data, const Say& say) {
  MadeStore made{data.prepare.source};
  if (!data.is_store) {
    made.path = prepare(data.prepare, say).store;
  } else if (data.prepare.rebuild) {
    throw InputError(2, concat("--rebuild needs the text file, and ", made.path, " is a store"),
                     "give the text file that it came from, and name the store with --store");
  }
  const SampleStore store = SampleStore::open(made.path);
  store.verify();
  made.identity = store.identity();
  return made;
}

// The same on a leader that is not rank 0. The error for a missing file names the host.
MadeStore make_store_there(const Topology& topology, const JobData& data) {
  try {
    return make_store(data, [](const std::string&) {});
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

std::string of_leader(Communicator& world, const std::string& mine) {
  const auto all = all_gather_object(world, mine, {.name = "path of the store"});
  const Topology& topology = world.topology();
  std::size_t rank = 0;
  while (topology.place_of(static_cast<int>(rank)).host != topology.host()) ++rank;
  return all[rank];
}

JobData job_data(Communicator& world, const DataOptions& options) {
  JobData data{.prepare = options.prepare, .stage = options.stage};
  data.prepare.needed_by = run_that_needs;
  if (is_store_name(data.prepare.source)) {
    std::string kind = is_store(data.prepare.source) ? "store" : "";
    broadcast_object(world, kind, {.name = "kind of the data"});
    data.is_store = !kind.empty();
  }
  return data;
}

std::string prepare_everywhere(Communicator& world, const JobData& data, const Say& say) {
  const CollectiveOptions patient{.name = "store prepared", .timeout = kPrepareTimeout};
  const Topology& topology = world.topology();
  MadeStore made;
  if (world.rank() == 0) {
    made = make_store(data, say);
  } else if (topology.local_rank() == 0 && !data.stage) {
    made = make_store_there(topology, data);
  }
  barrier(world, patient);
  if (data.stage) {
    // A host without the data cannot tell which name its store gets.
    std::string name = std::filesystem::path(made.path).filename();
    broadcast_object(world, name, {.name = "name of the store"});
    const std::string usual = data.is_store ? data.prepare.source : store_path(data.prepare);
    made.path = std::filesystem::path(usual).replace_filename(name);
    stage_store(world, made.path, say);
  } else {
    made.path = of_leader(world, made.path);
  }
  if (made.identity.empty()) made.identity = SampleStore::open(made.path).identity();
  compare_identities(world, made.identity);
  return made.path;
}

}  // namespace bp::trainer
