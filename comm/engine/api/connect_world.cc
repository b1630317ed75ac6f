#include "comm/engine/api/connect_world.h"

#include <algorithm>
#include <utility>

#include "base/system/denormals.h"
#include "base/text.h"
#include "bp/error.h"
#include "comm/backend/common/registry.h"
#include "comm/device/nccl_api.h"
#include "comm/engine/api/impl.h"
#include "comm/shared/connect_host.h"
#include "comm/store/roll_call.h"
#include "comm/transport/gloo.h"

namespace bp {
namespace {

Error stopped(const WorldPlan& plan, const char* doing, const JobFailure& failed) {
  const Error first = error_of(failed.cause, failed.text);
  return {first.code(), concat("rank ", plan.topology.rank, " of ", plan.topology.size(),
                               " stopped ", doing, ": ", first.what())};
}

// Returns once all ranks of the plan have arrived.
void wait_for_all(const WorldPlan& plan, Store& store) {
  const int size = plan.topology.size();
  const auto key_of = [&](int r) { return concat("comm/", plan.name, "/here/", r, "."); };
  store.set(key_of(plan.topology.rank), "");
  std::vector<std::string> keys;
  for (int r = 0; r < size; ++r) keys.push_back(key_of(r));
  std::vector<int> missing;
  try {
    missing = missing_ranks(store, keys, plan.options.start_timeout);
  } catch (const Error&) {
    if (const auto failed = store.job_failure()) {
      throw stopped(plan, "waiting for the others", *failed);
    }
    throw;
  }
  if (missing.empty()) return;
  for (int& rank : missing) rank = plan.launcher_ranks[static_cast<std::size_t>(rank)];
  const Error absent(ErrorCode::timeout,
                     concat(ranks_text(missing), " of ", size, " did not come within ",
                            plan.options.start_timeout.count(),
                            " ms (did all hosts start their program, and does each create a "
                            "communicator?)"));
  // Otherwise the other ranks would blame the first rank that leaves.
  store.fail_job({missing.front(), to_text(absent)});
  throw absent;
}

// A rank that fails in `connecting` reports the reason to the store, where the others find it.
template <class Connecting>
auto report_failure(const WorldPlan& plan, Store& store, const Connecting& connecting) {
  try {
    return connecting();
  } catch (const Error& error) {
    if (const auto failed = store.job_failure()) {
      throw stopped(plan, "connecting to the others", *failed);
    }
    const auto rank = static_cast<std::size_t>(plan.topology.rank);
    store.fail_job({plan.launcher_ranks[rank], to_text(error)});
    throw;
  }
}

// All ranks must add denormal numbers in the same way, or the bits of their results differ. Each
// rank compares itself with the first that comes here.
void check_denormals(const WorldPlan& plan, Store& store) {
  const std::string own(denormals_text());
  const int rank = plan.launcher_ranks[static_cast<std::size_t>(plan.topology.rank)];
  const std::string key = concat("comm/", plan.name, "/denormals");
  const std::string first = store.compare_set(key, "", concat("rank ", rank, " ", own));
  if (first.ends_with(own)) return;
  throw Error(ErrorCode::mismatch,
              concat("ranks differ in their arithmetic, so their results would differ: ", first,
                     ", and rank ", rank, " ", own,
                     " (a call such as _MM_SET_FLUSH_ZERO_MODE does this, or a library that was "
                     "built with -ffast-math; do it on all ranks, or on none)"));
}

std::string nccl_key(const WorldPlan& plan) { return concat("comm/", plan.name, "/nccl."); }

// Each rank that can use NCCL has said so before all have arrived. Throws `unavailable` if this
// rank must use NCCL and another cannot.
DeviceBackend agreed_devices(const WorldPlan& plan, DeviceBackend own, Store& store) {
  if (own == DeviceBackend::staged) return own;
  const std::string can = store.find(nccl_key(plan)).value_or("0");
  if (can == concat(plan.topology.size())) return own;
  if (own == DeviceBackend::nccl_or_staged) return DeviceBackend::staged;
  throw Error(ErrorCode::unavailable,
              concat("only ", can, " of ", plan.topology.size(),
                     " ranks can use NCCL, or were asked to (give all of them the backend nccl to "
                     "see why; the backend auto needs none)"));
}

// Returns null if ranks of one host share no memory.
std::shared_ptr<SharedHost> share_memory(const WorldPlan& plan, Store& store) {
  const CommunicatorOptions& options = plan.options;
  const BackendEntry* const backend = find_backend(options.backend);
  const bool asked = backend != nullptr && backend->id == BackendId::shm;
  const bool as_auto = backend == nullptr || backend->id == BackendId::nccl;
  const bool inside = options.algorithm == "hierarchical";
  const Topology& topology = plan.topology;
  if (backend != nullptr && !backend->spans_hosts && topology.hosts() > 1) {
    throw Error(ErrorCode::unavailable,
                concat("the backend ", backend->name, " is for ranks of one host; this job has ",
                       topology.hosts(), " hosts (auto chooses what fits)"));
  }
  // An algorithm that the program asks for works by messages, or by messages between hosts only.
  if (!asked && (!as_auto || (options.algorithm != "auto" && !inside))) {
    return nullptr;
  }
  if (std::ranges::max(topology.local_sizes) == 1) return nullptr;
  return connect_host({.rank = topology.rank,
                       .first = topology.leader_of(topology.host()),
                       .count = topology.local_size(),
                       .key = plan.key,
                       .timeout = options.start_timeout},
                      store);
}

}  // namespace

Communicator connect_world(const WorldPlan& plan, std::shared_ptr<Store> store) {
  const CommunicatorOptions& options = plan.options;
  const BackendEntry* const chosen = find_backend(options.backend);
  const DeviceBackend own_devices = own_device_choice(options.backend);
  if (own_devices != DeviceBackend::staged) store->add(nccl_key(plan), 1);
  wait_for_all(plan, *store);
  const DeviceBackend devices =
      report_failure(plan, *store, [&] { return agreed_devices(plan, own_devices, *store); });
  report_failure(plan, *store, [&] { check_denormals(plan, *store); });
  auto transport = report_failure(plan, *store, [&] {
    return std::make_unique<GlooTransport>(
        GlooOptions{.rank = plan.topology.rank,
                    .size = plan.topology.size(),
                    .listen = plan.listen,
                    .key = plan.key,
                    .timeout = options.start_timeout,
                    .keys = concat("comm/", plan.name, "/gloo/"),
                    .as_packaged = runs_gloo_as_packaged(chosen)},
        *store);
  });
  auto backend =
      report_failure(plan, *store, [&] { return make_chosen_backend(chosen, *transport); });
  const auto for_memory = prefix_store(*store, concat("comm/", plan.name, "/"));
  auto shared = report_failure(plan, *store, [&] { return share_memory(plan, *for_memory); });
  return make_world(plan.topology, options,
                    {.store = std::move(store),
                     .transport = std::move(transport),
                     .transport_name = "gloo",
                     .backend = std::move(backend),
                     .devices = devices,
                     .shared = std::move(shared),
                     .measured = plan.measured,
                     .trace = plan.trace,
                     .name = plan.name,
                     .launcher_ranks = plan.launcher_ranks});
}

DeviceBackend own_device_choice(const std::string& backend) {
  const BackendEntry* const entry = find_backend(backend);
  const bool must = entry != nullptr && entry->id == BackendId::nccl;
  if (!must && (backend != kAutomaticBackend || !is_nccl_at_hand())) return DeviceBackend::staged;
  const std::string problem = find_nccl_problem();
  if (problem.empty()) return must ? DeviceBackend::nccl : DeviceBackend::nccl_or_staged;
  if (!must) return DeviceBackend::staged;
  throw Error(ErrorCode::unavailable, concat("the backend nccl cannot be used here: ", problem));
}

}  // namespace bp
