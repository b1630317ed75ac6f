#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "tests/support/fake_nccl/communicator.h"
#include "tests/support/fake_nccl/fake_nccl.h"

namespace fake_nccl {
namespace {

struct UniqueId {
  char name[128];
};
struct Config {
  std::size_t size;
  unsigned magic;
  unsigned version;
  int blocking;
};

// Lives as long as the process, and so do communicators, so that a use after the end is seen.
struct State {
  std::mutex mutex;
  std::map<void*, std::shared_ptr<Communicator>> communicators;
  std::map<std::string, int> calls;
  std::set<void*> memory;  // of ncclMemAlloc
};

State& state() {
  static State& only = *new State;
  return only;
}

void count(const char* function) {
  const std::lock_guard lock(state().mutex);
  ++state().calls[function];
}

Communicator& find(void* handle, const char* function) {
  const std::lock_guard lock(state().mutex);
  const auto found = state().communicators.find(handle);
  if (found == state().communicators.end()) die(std::string(function) + " on no communicator");
  return *found->second;
}

}  // namespace
}  // namespace fake_nccl

using namespace fake_nccl;  // NOLINT: this file is the library

#define EXPORTED extern "C" __attribute__((visibility("default")))
#define USE(handle)                              \
  count(__func__);                               \
  Communicator& used = find((handle), __func__); \
  const Communicator::Use use(used, __func__)

EXPORTED int ncclGetVersion(int* version) {
  *version = 22809;
  return success;
}
EXPORTED int ncclGetUniqueId(UniqueId* id) {
  *id = {};
  const std::string name = Meeting::create();
  std::memcpy(id->name, name.data(), name.size());
  return success;
}
EXPORTED int ncclCommInitRankConfig(void** made, int ranks, UniqueId id, int rank, Config* config) {
  count(__func__);
  if (ranks > kMostRanks) die("more ranks than the fake serves");
  if (config->magic != 0xcafebeef || config->blocking != 0) die("a start that blocks");
  auto communicator = std::make_shared<Communicator>(id.name, ranks, rank);
  *made = communicator.get();
  const std::lock_guard lock(state().mutex);
  state().communicators[*made] = std::move(communicator);
  return in_progress;
}
EXPORTED int ncclCommGetAsyncError(void* communicator, int* error) {
  USE(communicator);
  *error = used.state();
  return success;
}
EXPORTED int ncclRedOpCreatePreMulSum(
    int* made, void* scalar, int type, int residence, void* communicator) {
  USE(communicator);
  if (residence != 1) die("a scalar in device memory, which the fake does not have");
  Scalar read{type, {}};
  std::memcpy(read.bytes.data(), scalar, size_of(type));
  *made = used.create_scaled_sum(read);
  return success;
}
EXPORTED int ncclRedOpDestroy(int reduction, void* communicator) {
  USE(communicator);
  used.destroy_reduction(reduction);
  return success;
}
EXPORTED int ncclMemAlloc(void** memory, std::size_t bytes) {
  count(__func__);
  if (of_cuda<int(void**, std::size_t)>("cudaMalloc")(memory, bytes) != 0) return system_error;
  const std::lock_guard lock(state().mutex);
  state().memory.insert(*memory);
  return success;
}
EXPORTED int ncclMemFree(void* memory) {
  count(__func__);
  {
    const std::lock_guard lock(state().mutex);
    for (const auto& [handle, communicator] : state().communicators) {
      if (communicator->has_buffer(memory)) die("ncclMemFree of registered memory");
    }
    if (state().memory.erase(memory) == 0) die("ncclMemFree of memory of another kind");
  }
  return of_cuda<int(void*)>("cudaFree")(memory) == 0 ? success : system_error;
}
EXPORTED int ncclCommRegister(void* communicator, void* memory, std::size_t bytes, void** handle) {
  USE(communicator);
  *handle = used.add_buffer(memory, bytes);
  return success;
}
EXPORTED int ncclCommDeregister(void* communicator, void* handle) {
  USE(communicator);
  used.remove_buffer(handle);
  return success;
}
EXPORTED int ncclCommFinalize(void* communicator) {
  USE(communicator);
  return used.finalize();
}
EXPORTED int ncclCommDestroy(void* communicator) {
  USE(communicator);
  used.end();
  return success;
}
EXPORTED int ncclCommAbort(void* communicator) {
  USE(communicator);
  used.abort();
  return success;
}
EXPORTED const char* ncclGetErrorString(int code) {
  return code == remote_error ? "remote process exited or there was a network error" : "error";
}
EXPORTED const char* ncclGetLastError(void*) { return "as the test asked for"; }

EXPORTED int ncclAllReduce(const void* from,
                           void* to,
                           std::size_t n,
                           int type,
                           int reduction,
                           void* communicator,
                           void* stream) {
  USE(communicator);
  if (used.has_buffer(to)) count("ncclAllReduce in place");
  return used.enqueue({__func__, from, to, n, type, reduction, 0, {}}, stream);
}
EXPORTED int ncclBroadcast(const void* from,
                           void* to,
                           std::size_t n,
                           int type,
                           int root,
                           void* communicator,
                           void* stream) {
  USE(communicator);
  return used.enqueue({__func__, from, to, n, type, 0, root, {}}, stream);
}
EXPORTED int ncclReduce(const void* from,
                        void* to,
                        std::size_t n,
                        int type,
                        int reduction,
                        int root,
                        void* communicator,
                        void* stream) {
  USE(communicator);
  return used.enqueue({__func__, from, to, n, type, reduction, root, {}}, stream);
}
EXPORTED int ncclAllGather(
    const void* from, void* to, std::size_t n, int type, void* communicator, void* stream) {
  USE(communicator);
  return used.enqueue({__func__, from, to, n, type, 0, 0, {}}, stream);
}
EXPORTED int ncclReduceScatter(const void* from,
                               void* to,
                               std::size_t n,
                               int type,
                               int reduction,
                               void* communicator,
                               void* stream) {
  USE(communicator);
  return used.enqueue({__func__, from, to, n, type, reduction, 0, {}}, stream);
}

EXPORTED int fake_nccl_calls(const char* function) {
  const std::lock_guard lock(state().mutex);
  return state().calls[function];
}
