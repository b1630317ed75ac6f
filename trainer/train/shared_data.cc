#include "trainer/train/shared_data.h"

#include <chrono>
#include <vector>

#include "bp/collective.h"
#include "comm/base/check.h"
#include "comm/base/text.h"
#include "trainer/data/input_error.h"

namespace bp::trainer {
namespace {

// How long ranks wait for others to prepare. A preparer that dies is noticed long before, by its
// lease and by the job's store.
constexpr std::chrono::hours kPrepareTimeout{24};

std::string prepare_one(const Options& options, bool rebuild, const Say& say) {
  if (options.data.ends_with(".sqlite")) return options.data;
  PrepareOptions prepare_options = options.prepare;
  prepare_options.source = options.data;
  prepare_options.seed = options.seed;
  prepare_options.rebuild = rebuild;
  return prepare(prepare_options, say).store;
}

void compare_identities(Communicator& world, const std::string& identity) {
  const auto bytes = [](const std::string& text) {
    return std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  };
  std::string all(identity.size() * static_cast<std::size_t>(world.size()), '\0');
  all_gather(world, const_view(bytes(identity)),
             view(std::span(reinterpret_cast<std::uint8_t*>(all.data()), all.size())),
             {.name = "store identity"});
  for (int rank = 0; rank < world.size(); ++rank) {
    const std::string theirs =
        all.substr(static_cast<std::size_t>(rank) * identity.size(), identity.size());
    if (theirs == all.substr(0, identity.size())) continue;
    const Topology& topology = world.topology();
    throw InputError(
        65,
        concat("the store of ", topology.host_name(topology.place_of(rank).host), " (rank ", rank,
               ") does not hold the same samples as that of ", topology.host_name(0), " (rank 0)"),
        "copy one store to every host, or prepare with the same data and options (--rebuild)");
  }
}

}  // namespace

std::string prepare_everywhere(Communicator& world, const Options& options, const Say& say) {
  const CollectiveOptions patient{.name = "store prepared", .timeout = kPrepareTimeout};
  const bool leader = world.topology().local_rank() == 0;
  std::string path;
  if (leader) path = prepare_one(options, options.prepare.rebuild, say);
  barrier(world, patient);
  if (!leader) path = prepare_one(options, false, [](const std::string&) {});
  compare_identities(world, SampleStore::open(path).identity());
  return path;
}

}  // namespace bp::trainer
