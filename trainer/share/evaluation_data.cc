#include "trainer/share/evaluation_data.h"

#include "base/text.h"
#include "bp/collective.h"
#include "trainer/data/input_error.h"
#include "trainer/data/plan.h"
#include "trainer/data/stop_signals.h"
#include "trainer/data/store_error.h"
#include "trainer/run/store_users.h"
#include "trainer/share/shared_data.h"
#include "trainer/share/temporary_folder.h"

namespace bp::trainer {
namespace {

bool holds(const std::string& path, const std::string& identity) {
  try {
    return SampleStore::open(path).identity() == identity;
  } catch (const StoreError&) {
    return false;
  }
}

// Where the leader of a host has the store, or prepares it.
struct StoreLocation {
  std::string path = {};
  bool exists = false;  // and holds the data
};

StoreLocation find_store(const Options& options,
                         const std::optional<std::string>& trained_on,
                         std::optional<TemporaryFolder>& temporary) {
  if (options.data_is_store) return {options.data, true};
  if (options.own && trained_on) {
    PrepareOptions prepared = options.prepare;
    prepared.source = options.data;
    const std::string own = store_path(prepared);
    if (holds(own, *trained_on)) return {own, true};
  }
  if (options.store_is_typed) return {options.prepare.store};
  temporary.emplace();
  return {temporary->path() + "/store.sqlite"};
}

}  // namespace

SampleStore open_evaluation_data(Communicator& world, const Options& options, const Say& say) {
  const bool leads = world.topology().local_rank() == 0;
  const std::optional<std::string> trained_on =
      options.own ? identity_of_data(options.scored_run) : std::nullopt;
  std::optional<TemporaryFolder> temporary;
  Options prepared = options;
  if (leads) {
    const StoreLocation store = find_store(options, trained_on, temporary);
    prepared.data_is_store = store.exists;
    if (store.exists) prepared.data = store.path;
    prepared.prepare.store = store.path;
  }
  prepared.prepare.store = of_leader(world, prepared.prepare.store);
  prepared.prepare.may_rebuild = false;

  const std::string hidden = temporary ? temporary->path() : "";
  const auto say_visible = [&](const std::string& text) {
    if (hidden.empty() || text.find(hidden) == std::string::npos) say(text);
  };
  std::string path;
  try {
    path = prepare_everywhere(world, prepared, say_visible);
  } catch (const Interrupted&) {
    if (!temporary) throw;
    throw Interrupted(concat("stopped on request while preparing ", options.data),
                      "the same command starts again");
  }
  SampleStore store = SampleStore::open(path);
  if (trained_on && store.identity() != *trained_on) {
    throw InputError(
        65, concat(options.data, " is no longer what ", options.scored_run, " was trained on"),
        concat("its splits are unknown now; to score all of a file: bert_train eval ",
               options.scored_run, " FILE"));
  }
  barrier(world,
          {.name = "store opened"});  // all ranks have opened the file, which may now be removed
  return store;
}

}  // namespace bp::trainer
