#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "comm/backend/backends.h"
#include "comm/backend/network/algorithms.h"
#include "comm/reduce/reduce.h"

namespace bp {
namespace {

using gloo_plugin::NativeCall;

NativeCall native_call(const Operation& operation, const CollectiveCall& call) {
  const ConstView whole = operation.whole();
  NativeCall native;
  native.tag = static_cast<std::uint32_t>(call.context().slot >> 32);
  native.element_bytes = size_of(whole.type);
  native.input = operation.input.data;
  native.input_count = operation.input.count;
  native.output = operation.output.data;
  native.output_count = operation.output.count;
  native.root = operation.root;
  native.timeout_ms = call.time_left().count();  // which Gloo measures by its own clock
  native.stop = &call.stop();
  return native;
}

// Gloo does not wait for the other ranks where there is nothing to send, and some of its
// collectives fail then.
bool moves_nothing(const Operation& operation) {
  return operation.kind != Operation::Kind::barrier && operation.whole().count == 0;
}

void reduce_with(void* self, void* out, const void* a, const void* b, std::size_t n) {
  const auto& operation = *static_cast<const Operation*>(self);
  reduce_to(operation.output.type, operation.reduce, static_cast<std::byte*>(out),
            static_cast<const std::byte*>(a), static_cast<const std::byte*>(b), n);
}

void check_reduce_scatter(const Operation& operation) {
  if (operation.input.type == DataType::f32 && operation.reduce == ReduceOp::sum) return;
  throw Error(ErrorCode::unavailable,
              "gloo-native has reduce_scatter for sums of f32 only; use the backend gloo");
}

// Gloo's own collectives, to compare bp's with. `gloo-native` leaves Gloo's thread as Gloo starts
// it; `gloo-native-batch` schedules it as bp does for its own collectives (gloo_plugin/context.cc).
// Ranks that disagree learn it only when the collective's timeout has passed. reduce_scatter exists
// for sums of f32 only, by the one algorithm that this version of Gloo has.
class GlooNativeBackend : public Backend {
 public:
  GlooNativeBackend(std::string name, GlooTransport& transport)
      : name_(std::move(name)), transport_(transport) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] std::string_view algorithm_of(Operation::Kind, std::size_t) const override {
    return "native";
  }

  void run(const Operation& operation, CollectiveCall& call) override {
    call.use(algorithm_of(operation.kind, 0));
    if (moves_nothing(operation)) return Barrier(call).finish();
    Operation op = operation;
    NativeCall native = native_call(op, call);
    switch (op.kind) {
      case Operation::Kind::all_reduce:
        native.kind = NativeCall::all_reduce;
        native.reduce_self = &op;
        native.reduce = reduce_with;
        break;
      case Operation::Kind::broadcast:
        native.kind = NativeCall::broadcast;
        break;
      case Operation::Kind::all_gather:
        native.kind = NativeCall::all_gather;
        native.counts = op.counts.data();
        break;
      case Operation::Kind::barrier:
        native.kind = NativeCall::barrier;
        break;
      case Operation::Kind::reduce_scatter:
        check_reduce_scatter(op);
        Barrier(call).finish();  // Gloo gives this one no tag, so the ranks agree first
        native.kind = NativeCall::reduce_scatter_f32_sum;
        native.counts = op.counts.data();
        break;
      default:
        throw Error(
            ErrorCode::unavailable,
            concat(name_, " does not carry out ", name_of(op.kind),
                   ": it is there to compare with Gloo's all_reduce, broadcast, all_gather, "
                   "reduce_scatter and barrier; use the backend gloo"));
    }
    call.guard([&] { transport_.run_native(native); });
    if (op.kind == Operation::Kind::all_reduce && op.reduce == ReduceOp::average) {
      finish_average(op.output.type, op.output.data, op.output.count, call.size());
    }
  }

 private:
  std::string name_;
  GlooTransport& transport_;  // of the job
};

}  // namespace

std::unique_ptr<Backend> make_chosen_backend(const BackendEntry* chosen, GlooTransport& transport) {
  if (chosen == nullptr) return nullptr;
  switch (chosen->id) {
    case BackendId::shm:
    case BackendId::gloo:
    case BackendId::nccl:
      return nullptr;
    case BackendId::gloo_native:
    case BackendId::gloo_native_batch:
      transport.connect_all();
      return std::make_unique<GlooNativeBackend>(std::string(chosen->name), transport);
  }
  BP_CHECK(false, "a backend without a factory");
}

bool runs_gloo_as_packaged(const BackendEntry* chosen) {
  return chosen != nullptr && chosen->id == BackendId::gloo_native;
}

}  // namespace bp
