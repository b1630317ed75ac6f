// Gloo's own collectives, for comparison with bp's. The tag is a hash of the request, so that ranks
// that disagree never receive each other's data, as with bp's slots.
#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/reduce_scatter.h>

#include <chrono>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "comm/transport/gloo_plugin/context.h"

namespace bp::gloo_plugin {
namespace {

std::chrono::milliseconds timeout_of(const NativeCall& call) {
  return std::chrono::milliseconds(call.timeout_ms);
}

// T may be any type of the element's size: Gloo only moves elements, and reduces them with bp's
// function.
template <class T>
void all_reduce(const std::shared_ptr<gloo::Context>& context, const NativeCall& call) {
  gloo::AllreduceOptions options(context);
  options.setOutput(static_cast<T*>(call.output), call.output_count);
  options.setReduceFunction([&](void* out, const void* a, const void* b, std::size_t n) {
    call.reduce(call.reduce_self, out, a, b, n);
  });
  options.setTag(call.tag);
  options.setTimeout(timeout_of(call));
  gloo::allreduce(options);
}

void broadcast(const std::shared_ptr<gloo::Context>& context, const NativeCall& call) {
  gloo::BroadcastOptions options(context);
  options.setOutput(static_cast<char*>(call.output), call.output_count * call.element_bytes);
  options.setRoot(call.root);
  options.setTag(call.tag);
  options.setTimeout(timeout_of(call));
  gloo::broadcast(options);
}

void all_gather(const std::shared_ptr<gloo::Context>& context, const NativeCall& call) {
  std::vector<std::size_t> bytes(call.counts, call.counts + context->size);
  for (std::size_t& count : bytes) count *= call.element_bytes;
  gloo::AllgathervOptions options(context);
  // Gloo takes a pointer to mutable input, but only reads it.
  options.setInput(const_cast<char*>(static_cast<const char*>(call.input)),
                   call.input_count * call.element_bytes);
  options.setOutput(static_cast<char*>(call.output), bytes);
  options.setTag(call.tag);
  options.setTimeout(timeout_of(call));
  gloo::allgatherv(options);
}

void barrier(const std::shared_ptr<gloo::Context>& context, const NativeCall& call) {
  gloo::BarrierOptions options(context);
  options.setTag(call.tag);
  options.setTimeout(timeout_of(call));
  gloo::barrier(options);
}

// This version of Gloo has only one reduce-scatter, a class of its older API that works in place.
void reduce_scatter(const std::shared_ptr<gloo::Context>& context, const NativeCall& call) {
  const auto* const input = static_cast<const float*>(call.input);
  std::vector<float> data(input, input + call.input_count);
  std::vector<int> counts;
  for (int r = 0; r < context->size; ++r) counts.push_back(static_cast<int>(call.counts[r]));
  gloo::ReduceScatterHalvingDoubling<float> algorithm(context, {data.data()},
                                                      static_cast<int>(data.size()), counts);
  algorithm.run();
  std::memcpy(call.output, data.data(), call.output_count * sizeof(float));
}

void dispatch(const std::shared_ptr<gloo::Context>& context, const NativeCall& call) {
  switch (call.kind) {
    case NativeCall::all_reduce:
      switch (call.element_bytes) {
        case 1:
          return all_reduce<std::uint8_t>(context, call);
        case 2:
          return all_reduce<std::uint16_t>(context, call);
        case 4:
          return all_reduce<std::uint32_t>(context, call);
        case 8:
          return all_reduce<std::uint64_t>(context, call);
        default:
          throw std::invalid_argument("no element is that wide");
      }
    case NativeCall::broadcast:
      return broadcast(context, call);
    case NativeCall::all_gather:
      return all_gather(context, call);
    case NativeCall::barrier:
      return barrier(context, call);
    case NativeCall::reduce_scatter_f32_sum:
      return reduce_scatter(context, call);
    default:
      throw std::invalid_argument("no such collective");
  }
}

}  // namespace

void run_native(Context& context, const NativeCall& call) {
  context.waits().run([&] { dispatch(context.gloo(), call); }, *call.stop);
}

}  // namespace bp::gloo_plugin
