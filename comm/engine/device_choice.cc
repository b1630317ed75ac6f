#include "comm/engine/device_choice.h"

#include "base/text.h"
#include "bp/error.h"
#include "comm/backend/registry.h"
#include "comm/device/nccl_api.h"

namespace bp {
namespace {

bool must_use_nccl(const std::string& backend) {
  const BackendEntry* const entry = find_backend(backend);
  return entry != nullptr && entry->id == BackendId::nccl;
}

}  // namespace

bool can_use_nccl(const std::string& backend) {
  const bool must = must_use_nccl(backend);
  if (!must && (backend != kAutomaticBackend || !is_nccl_at_hand())) return false;
  const std::string problem = find_nccl_problem();
  if (!problem.empty() && must) {
    throw Error(ErrorCode::unavailable, concat("the backend nccl cannot be used here: ", problem));
  }
  return problem.empty();
}

DeviceChoice::DeviceChoice(const std::string& name, const std::string& backend, Store& store)
    : store_(store),
      key_(concat("comm/", name, "/nccl.")),
      must_(must_use_nccl(backend)),
      can_(can_use_nccl(backend)) {
  if (can_) store_.add(key_, 1);
}

DeviceBackend DeviceChoice::agreed(int ranks) {
  if (!can_) return DeviceBackend::staged;
  const std::string can = store_.find(key_).value_or("0");
  if (can == concat(ranks)) {
    return must_ ? DeviceBackend::nccl : DeviceBackend::nccl_or_staged;
  }
  if (!must_) return DeviceBackend::staged;
  throw Error(ErrorCode::unavailable,
              concat("only ", can, " of ", ranks,
                     " ranks can use NCCL, or were asked to (give all of them the backend nccl to "
                     "see why; the backend auto needs none)"));
}

DeviceBackend own_device_choice(const std::string& backend) {
  if (!can_use_nccl(backend)) return DeviceBackend::staged;
  return must_use_nccl(backend) ? DeviceBackend::nccl : DeviceBackend::nccl_or_staged;
}

}  // namespace bp
