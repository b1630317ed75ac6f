#include "trainer/data/store_place.h"

#include <algorithm>

#include "base/text.h"
#include "trainer/data/hash.h"
#include "trainer/data/look_up.h"
#include "trainer/data/sample_store.h"
#include "trainer/data/store_error.h"

namespace bp::trainer {
namespace {

constexpr std::size_t kHashDigits = 8;

// Whether the store there was made with other options. The content of the data file is no option.
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

}  // namespace

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

}  // namespace bp::trainer
