#include "comm/engine/api/request.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "bp/error.h"
#include "comm/backend/common/registry.h"
#include "comm/device/device_memory.h"
#include "comm/engine/api/impl.h"
#include "comm/engine/join_protocol.h"

namespace bp {

using Kind = Operation::Kind;

Request::Request(Communicator& comm,
                 Operation::Kind kind,
                 const CollectiveOptions& options,
                 std::string_view called)
    : comm_(comm), stream_(options.stream), called_(called.empty() ? name_of(kind) : called) {
  comm.impl().refuse_in_child(called_);
  operation.kind = kind;
  operation.reduce = options.op;
  operation.name = options.name;
  operation.timeout = bounded(options.timeout);
  operation.prescale = options.prescale;
  operation.postscale = options.postscale;
  if (options.timeout.count() < 0) {
    refuse(concat("timeout ", options.timeout.count(), " ms is negative"));
  }
  const bool reduces = kind == Kind::all_reduce || kind == Kind::all_reduce_grouped ||
                       kind == Kind::reduce || kind == Kind::reduce_scatter;
  if (operation.is_scaled() && !reduces) {
    refuse("there is nothing to scale: prescale and postscale are for reductions");
  }
  if (comm.impl().options().joinable && options.name.size() > kLongestJoinableName) {
    refuse(concat("its name has ", options.name.size(),
                  " bytes; where ranks may join, names have at most ", kLongestJoinableName));
  }
}

void Request::refuse(const std::string& why) const {
  const std::string name = operation.name.empty() ? "" : concat(" '", operation.name, "'");
  throw Error(ErrorCode::invalid_argument, concat(called_, name, ": ", why));
}

void Request::check_device(const char* what, const Device& device) {
  if (has_memory_ && device != operation.device) {
    refuse(concat(what, " lies on ", name_of(device), ", and the memory before it on ",
                  name_of(operation.device),
                  "; all memory of one operation must lie on one device"));
  }
  has_memory_ = true;
  operation.device = device;
  const BackendSet& backends = comm_.impl().engine().setup().backends;
  if (backends.find(device.kind) == nullptr) {
    const std::string others = backends_serving(device.kind);
    refuse(concat(what, " lies on ", name_of(device), ", and no backend of this communicator (",
                  comm_.backend(), ") serves ", name_of(device.kind), " memory; ",
                  others.empty() ? "copy it to host memory first" : "create it with ", others));
  }
  try {
    static_cast<void>(memory_of(device));
  } catch (const Error& error) {
    refuse(concat(what, " lies on ", name_of(device), ", but ", error.what()));
  }
}

void Request::look_at_device() {
  if (operation.device.kind == Device::Kind::host) return;
  operation.after = memory_of(operation.device).record(stream_);
}

void Request::check_memory(const char* what, const ConstView& memory) {
  if (memory.data == nullptr && memory.count > 0) {
    refuse(concat(what, " has ", memory.count, " elements at no address"));
  }
  if (size_of(memory.type) == 0) {
    refuse(concat(what, " has elements of type number ", static_cast<int>(memory.type),
                  ", which bp does not have"));
  }
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data);
  const std::size_t bytes = std::numeric_limits<std::uintptr_t>::max() - address;
  if (memory.count > bytes / size_of(memory.type)) {
    refuse(concat(what, " has ", memory.count, " ", name_of(memory.type),
                  " elements, more bytes than there are addresses"));
  }
  if (memory.count > 0) check_device(what, memory.device);
}

void Request::check_reducible(DataType type) const {
  if (operation.is_scaled() && class_of(type) == TypeClass::boolean) {
    refuse(concat(name_of(type), " elements cannot be scaled; leave out prescale and postscale"));
  }
  if (can_reduce(operation.reduce, type)) return;
  std::string defined;
  for (const ReduceOp op : kReduceOps) {
    if (can_reduce(op, type)) defined += concat(defined.empty() ? "" : ", ", name_of(op));
  }
  refuse(concat("the reduction ", name_of(operation.reduce), " is not defined for ", name_of(type),
                " elements; use one of ", defined));
}

void Request::check_pair(const ConstView& input, const View& output) {
  check_memory("input", input);
  check_memory("output", output);
  if (input.type != output.type) {
    refuse(concat("input is ", name_of(input.type), " and output is ", name_of(output.type),
                  "; they must be of one type"));
  }
}

void Request::check_count(const char* what, std::size_t given, std::size_t wanted) const {
  if (given != wanted) {
    refuse(concat(what, " has ", given, " elements; it must have ", wanted));
  }
}

void Request::check_counts(const char* what,
                           std::span<const std::size_t> counts,
                           const char* memory_name,
                           const ConstView& memory) const {
  check_count(what, counts.size(), static_cast<std::size_t>(ranks()));
  std::size_t sum = 0;
  for (const std::size_t count : counts) {
    if (__builtin_add_overflow(sum, count, &sum)) {
      refuse(concat(what, " add up to more than a size can hold"));
    }
  }
  check_count(memory_name, memory.count, sum);
}

void Request::check_rank(const char* what, int rank) const {
  if (rank < 0 || rank >= ranks()) {
    refuse(concat(what, " is ", rank, "; the ranks are 0 to ", ranks() - 1));
  }
}

void Request::check_apart(const ConstView& input, const View& output) const {
  if (overlap(input, output)) refuse("input and output overlap");
}

void Request::check_block(const char* block_name,
                          const ConstView& block,
                          const char* memory_name,
                          const ConstView& memory,
                          std::span<const std::size_t> counts) const {
  const auto before = counts.first(static_cast<std::size_t>(comm_.rank()));
  const std::size_t offset = std::accumulate(before.begin(), before.end(), std::size_t{0});
  if (overlap(block, memory) && block.data != memory.data + offset * size_of(memory.type)) {
    refuse(
        concat(block_name, " lies in ", memory_name, ", but not where this rank's block belongs"));
  }
}

void Request::check_apart(std::span<const View> tensors) const {
  std::vector<View> sorted(tensors.begin(), tensors.end());
  std::erase_if(sorted, [](const View& tensor) { return tensor.count == 0; });
  std::ranges::sort(sorted, std::ranges::less(), &View::data);
  const auto overlapping = std::ranges::adjacent_find(
      sorted, [](const View& a, const View& b) { return overlap(a, b); });
  if (overlapping != sorted.end()) refuse("two tensors overlap, and each would be reduced twice");
}

void Request::run() {
  look_at_device();
  comm_.impl().engine().run(operation);
}

int Request::join() const {
  const Communicator::Impl& impl = comm_.impl();
  if (ranks() > 1 && !impl.options().joinable) {
    refuse("ranks may not join here; create the communicator with CommunicatorOptions::joinable");
  }
  return comm_.impl().engine().join(operation);
}

Work Request::start() {
  look_at_device();
  return Work(comm_.impl().engine().start(std::move(operation)));
}

void Request::send() {
  look_at_device();
  comm_.impl().engine().send(std::move(operation));
}
Work Request::start_send() {
  look_at_device();
  return Work(comm_.impl().engine().start_send(std::move(operation)));
}
MessageStatus Request::receive() {
  look_at_device();
  return comm_.impl().engine().receive(std::move(operation));
}
Work Request::start_receive(MessageStatus* report) {
  look_at_device();
  return Work(comm_.impl().engine().start_receive(std::move(operation), report));
}

std::vector<std::size_t> one_each(const Communicator& comm, std::size_t count) {
  return std::vector<std::size_t>(static_cast<std::size_t>(comm.size()), count);
}

bool overlap(const ConstView& a, const ConstView& b) {
  if (a.bytes() == 0 || b.bytes() == 0) return false;
  const std::less<const std::byte*> before;
  return before(a.data, b.data + b.bytes()) && before(b.data, a.data + a.bytes());
}

}  // namespace bp
