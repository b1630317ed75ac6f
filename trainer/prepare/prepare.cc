#include "trainer/prepare/prepare.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <thread>

#include "base/input_error.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/common/hash.h"
#include "trainer/common/look_up.h"
#include "trainer/common/stop_signals.h"
#include "trainer/prepare/fingerprint.h"
#include "trainer/prepare/plan.h"
#include "trainer/prepare/preparation.h"
#include "trainer/store/sample_store.h"

namespace bp::trainer {
namespace {

const char* const kRebuildHint = "--rebuild rebuilds it, --store makes another store";
const char* const kStoreHint = "name another place for the new store with --store";

// Returns what must be added to the command so that it makes a store of its own. The run that needs
// the present store cannot resume with another one.
std::string hint_for_place(const Plan& plan) {
  if (plan.options.store.empty()) return "leave out --rebuild: other options get their own store";
  std::error_code ignored;
  const std::string& run = plan.options.run;
  if (run.empty() || !std::filesystem::exists(run + "/config.yaml", ignored)) return kStoreHint;
  return concat(another_place(plan), " makes another store and another run");
}

std::string needed_by(const Plan& plan, const SampleStore& store) {
  const auto& ask = plan.options.needed_by;
  return ask ? ask(plan.store, store.identity()) : "";
}

// Returns whether the existing store is the one that `plan` would make. If not, only --rebuild may
// replace it, and not even that while a run needs it.
bool matches(const Plan& plan, const SampleStore& store) {
  const Fingerprint stored = store.fingerprint();
  const std::string differences = difference(stored, plan.fingerprint);
  if (differences.empty()) return true;
  const std::string run = needed_by(plan, store);
  if (plan.options.rebuild) {
    if (run.empty()) return false;
    throw InputError(2,
                     concat("--rebuild would replace the store ", plan.store, ", which the run in ",
                            run, " needs to resume and to be scored again"),
                     hint_for_place(plan));
  }
  const bool may_rebuild = plan.options.may_rebuild && run.empty();
  const std::string hint = may_rebuild ? kRebuildHint : hint_for_place(plan);
  if (const std::string change = changed_source(stored, plan); !change.empty()) {
    throw InputError(65, concat(change, " since the store ", plan.store, " was made"), hint);
  }
  throw InputError(2, concat("the store ", plan.store, " was made differently: ", differences),
                   hint);
}

// Returns whether a usable store exists at the path. Throws if another file is there, or a
// different store without --rebuild.
bool usable_store_exists(const Plan& plan, bool rebuild) {
  std::error_code error;
  if (!std::filesystem::exists(plan.store, error) && !error) {
    return false;
  }
  try {
    const SampleStore store = SampleStore::open(plan.store);
    return matches(plan, store) && !rebuild;
  } catch (const StoreError& problem) {
    const bool replaceable = problem.kind() == StoreError::Kind::replaceable;
    if (replaceable && rebuild) {
      return false;
    }
    throw InputError(
        problem.exit_code(), problem.what(),
        replaceable
            ? plan.options.may_rebuild ? kRebuildHint : kStoreHint
            : "bert_train does not replace it; name another file for the store with --store");
  }
}

constexpr std::size_t kHashDigits = 8;

// Whether the store there was made with other options. The content of the data file is not an
// option.
bool is_of_other_options(const std::string& path, const Plan& plan) {
  try {
    const Fingerprint stored = SampleStore::open(path).fingerprint();
    return !difference(stored, plan.fingerprint).empty() && changed_source(stored, plan).empty();
  } catch (const StoreError&) {
    return false;
  }
}

// Does not depend on the content of the data files, so that one that has changed is noticed.
std::string hash_of_options(const Plan& plan) {
  Hash hash;
  for (const auto& [key, value] : plan.fingerprint) {
    hash.add(key);
    hash.add(is_source_key(plan, key) ? "" : value);
  }
  return hash.hex().substr(0, kHashDigits);
}

// Returns which file holds the store of a plan. Stores of one data file that were made with
// different options lie beside each other: the first one has the name of the data file, and each
// other one also has a hash of its options in its name.
//
// Returns options.store if that names a file. Otherwise returns reviews.sqlite, unless that is a
// store of other options; then reviews-1a2b3c4d.sqlite. A store of the same options whose source
// has changed since is not another one. With --rebuild, a store of other options is to be replaced,
// unless the plan's own store exists beside it. Throws what reading a store throws, except
// StoreError: a file that is not a usable store keeps its name.
std::string place_of_store(const Plan& plan) {
  const std::string usual = store_path(plan.options);
  if (!plan.options.store.empty()) return usual;
  const std::string stem = usual.substr(0, usual.rfind('.'));
  const std::string own = concat(stem, "-", hash_of_options(plan), usual.substr(stem.size()));
  const bool own_exists = path_exists(own);
  if (!path_exists(usual)) return own_exists ? own : usual;
  if (!is_of_other_options(usual, plan)) return usual;
  return plan.options.rebuild && !own_exists ? usual : own;
}

// Makes plan.store the file that has, or will have, the plan's store, and says why it has not the
// usual name.
void go_to_own_store(Plan& plan, const Say& progress) {
  const std::string place = place_of_store(plan);
  if (place == plan.store) return;
  plan.store = place;
  const std::string usual = store_path(plan.options);
  std::error_code ignored;
  if (place == usual || !std::filesystem::exists(usual, ignored)) return;
  progress(concat("the store ", usual, " was made differently: ",
                  difference(SampleStore::open(usual).fingerprint(), plan.fingerprint),
                  "; this one is ", place));
}

// Returns false while another process holds the lease.
bool try_take(Lease& lease, const std::string& store) {
  try {
    return lease.try_take();
  } catch (const Error& error) {
    const std::string name = std::filesystem::path(store).filename().string();
    throw InputError(70, concat("cannot make the store ", store, ": ", error.what()),
                     concat("name a place where you may write: --store ", writable_place(name)));
  }
}

// Takes the lease. Returns true if another process held it before.
bool wait_for(Lease& lease,
              const std::string& store,
              const Say& progress,
              const LeaseTimes& times) {
  bool waited = false;
  std::string said;
  while (!try_take(lease, store)) {
    waited = true;
    if (const std::string holder = lease.holder(); holder != said) {
      said = holder;
      progress("waiting for " + holder);
    }
    throw_if_stopping("waiting for", lease.holder());
    std::this_thread::sleep_for(times.renewal / 20);
  }
  return waited;
}

}  // namespace

PrepareResult prepare(const PrepareOptions& options, const Say& progress, const LeaseTimes& times) {
  Plan plan = make_plan(options);
  bool rebuild = options.rebuild;
  for (;;) {
    go_to_own_store(plan, progress);
    PrepareResult reused{plan.store, true};
    if (usable_store_exists(plan, rebuild)) {
      progress("using the store " + plan.store + ", which matches");
      return reused;
    }
    Lease lease(plan.store + ".lease", times);
    if (wait_for(lease, plan.store, progress, times)) {
      rebuild = false;  // the other process may have rebuilt the store
    }
    if (place_of_store(plan) != plan.store) continue;  // another process made one of other options
    if (usable_store_exists(plan, rebuild)) {
      return reused;
    }
    try {
      make_store(plan, lease, progress);
      return {plan.store, false};
    } catch (const Error&) {
      if (!lease.lost()) {
        throw;
      }
    }
  }
}

}  // namespace bp::trainer
