#include "comm/backend/device/nccl_ranks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <functional>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "comm/device/ask_until.h"
#include "comm/device/cuda_runtime.h"
#include "comm/device/current_cuda_device.h"
#include "comm/device/device_memory.h"
#include "comm/reduce/halves.h"
#include "comm/transport/transport.h"

namespace bp {
namespace {

// How long the end of a communicator waits for the other ranks' ends. NCCL may still send what this
// rank has given, and a rank that never ends must not hold this one.
constexpr std::chrono::milliseconds kClose{1000};

constexpr std::pair<DataType, int> kTypes[] = {
    {DataType::u8, NcclApi::u8},   {DataType::i8, NcclApi::i8},   {DataType::i32, NcclApi::i32},
    {DataType::i64, NcclApi::i64}, {DataType::f16, NcclApi::f16}, {DataType::bf16, NcclApi::bf16},
    {DataType::f32, NcclApi::f32}, {DataType::f64, NcclApi::f64}};
constexpr std::pair<ReduceOp, int> kReductions[] = {{ReduceOp::sum, NcclApi::sum},
                                                    {ReduceOp::average, NcclApi::average},
                                                    {ReduceOp::min, NcclApi::min},
                                                    {ReduceOp::max, NcclApi::max},
                                                    {ReduceOp::product, NcclApi::product}};

// Returns NCCL's number; -1 if NCCL does not have it.
template <class Key>
int number_in(std::span<const std::pair<Key, int>> table, Key key) {
  const auto found = std::ranges::find(table, key, &std::pair<Key, int>::first);
  return found == table.end() ? -1 : found->second;
}

int nccl_type(DataType type) { return number_in<DataType>(kTypes, type); }
int nccl_reduction(ReduceOp op) { return number_in<ReduceOp>(kReductions, op); }

// Asks NCCL for errors before the device.
class WatchedEnd final : public DeviceEvent {
 public:
  WatchedEnd(std::function<bool()> is_begun, std::shared_ptr<const DeviceEvent> end)
      : is_begun_(std::move(is_begun)), end_(std::move(end)) {}
  [[nodiscard]] bool reached() const override { return is_begun_() && end_->reached(); }
  void delay(void* stream) const override { end_->delay(stream); }

 private:
  std::function<bool()> is_begun_;
  std::shared_ptr<const DeviceEvent> end_;
};

// The factor by which NCCL must multiply each element before it adds them.
double factor_of(const Operation& operation, int ranks) {
  return operation.reduce == ReduceOp::average && NcclRanks::has_exact_average(operation, ranks)
             ? operation.prescale / ranks
             : operation.prescale;
}

bool are_equal(const std::vector<std::size_t>& counts) {
  return std::ranges::adjacent_find(counts, std::not_equal_to()) == counts.end();
}

}  // namespace

bool NcclRanks::can_carry_out(const Operation& operation) {
  using Kind = Operation::Kind;
  const DataType type = operation.output.type;
  if (nccl_type(type) < 0 || operation.whole().count == 0) return false;
  switch (operation.kind) {
    case Kind::broadcast:
      return true;
    case Kind::all_gather:
      return are_equal(operation.counts);
    case Kind::reduce_scatter:
      return are_equal(operation.counts) && nccl_reduction(operation.reduce) >= 0;
    case Kind::all_reduce:
    case Kind::reduce:
      return nccl_reduction(operation.reduce) >= 0;
    default:
      return false;
  }
}

bool NcclRanks::has_exact_average(const Operation& operation, int ranks) {
  return class_of(operation.output.type) == TypeClass::real &&
         std::has_single_bit(static_cast<unsigned>(ranks));
}

// bp multiplies halves in f32 by a factor in f32. A product by a factor that is a half itself has
// one rounding on both ways.
bool NcclRanks::prescales(const Operation& operation, int ranks) {
  if (operation.reduce != ReduceOp::sum && operation.reduce != ReduceOp::average) return false;
  const auto factor = static_cast<float>(factor_of(operation, ranks));
  switch (operation.output.type) {
    case DataType::f32:
    case DataType::f64:
      return true;
    case DataType::f16:
      return to_float(to_float16(factor)) == factor;
    case DataType::bf16:
      return to_float(to_bfloat16(factor)) == factor;
    default:
      return false;
  }
}

NcclRanks::NcclRanks(const NcclApi::UniqueId& id,
                     int ranks,
                     int rank,
                     int device,
                     std::shared_ptr<NcclBuffers> buffers)
    : nccl_(nccl_api()),
      cuda_(cuda_runtime()),
      device_(device),
      size_(ranks),
      buffers_(std::move(buffers)) {
  const CurrentCudaDevice current(cuda_, device_);
  if (const auto code = cuda_.create_stream(&stream_, CudaRuntime::kStreamApart);
      code != CudaRuntime::kSuccess) {
    throw DeviceFailure(
        concat("cudaStreamCreate on cuda:", device_, " failed: ", cuda_.error(code)));
  }
  memory_ = memory_of({Device::Kind::cuda, device_}).on_stream(stream_);
  NcclApi::Config config;
  config.blocking = 0;
  require(nccl_.init(&ranks_, ranks, id, rank, &config), "ncclCommInitRankConfig");
}

NcclRanks::~NcclRanks() {
  close();
  const CurrentCudaDevice current(cuda_, device_);
  static_cast<void>(cuda_.destroy_stream(stream_));
}

void NcclRanks::close() {
  if (ranks_ == nullptr) return;
  if (is_starting_) return abort();
  const CurrentCudaDevice current(cuda_, device_);
  buffers_->release(ranks_);
  const NcclApi::Code code = nccl_.finalize(ranks_);
  const std::atomic<bool> never{false};
  NcclApi::Code state = NcclApi::kInProgress;
  const bool ended = (code == NcclApi::kSuccess || code == NcclApi::kInProgress) &&
                     ask_until(Deadline(kClose), never, [&] {
                       return nccl_.async_error(ranks_, &state) != NcclApi::kSuccess ||
                              state != NcclApi::kInProgress;
                     });
  if (!ended || state != NcclApi::kSuccess) return abort();
  static_cast<void>(nccl_.destroy(std::exchange(ranks_, nullptr)));
}

void NcclRanks::abort() {
  if (ranks_ == nullptr) return;
  const CurrentCudaDevice current(cuda_, device_);
  static_cast<void>(nccl_.abort(std::exchange(ranks_, nullptr)));
  buffers_->forget();
}

void NcclRanks::require(NcclApi::Code code, const char* call) const {
  if (code == NcclApi::kSuccess || code == NcclApi::kInProgress) return;
  const std::string text =
      concat(call, " on cuda:", device_, " failed: ", nccl_.text_of_error(code), " (",
             nccl_.last_error(ranks_), ")");
  if (code == NcclApi::kRemoteError) throw TransportFailure(ErrorCode::peer_lost, text);
  throw DeviceFailure(text);
}

bool NcclRanks::is_begun() const {
  NcclApi::Code state = NcclApi::kSuccess;
  require(nccl_.async_error(ranks_, &state), "ncclCommGetAsyncError");
  require(state, "NCCL");
  return state == NcclApi::kSuccess;
}

bool NcclRanks::wait_until_begun(const Deadline& deadline, const std::atomic<bool>& stop) {
  const CurrentCudaDevice current(cuda_, device_);
  if (!ask_until(deadline, stop, [&] { return is_begun(); })) return false;
  is_starting_ = false;
  if (scaled_sum_) {
    require(nccl_.destroy_reduction(*scaled_sum_, ranks_), "ncclRedOpDestroy");
    scaled_sum_.reset();
  }
  return true;
}

std::shared_ptr<const DeviceEvent> NcclRanks::mark_end() {
  done_ = memory_->record(stream_);
  last_end_ = done_;
  return done_;
}

std::shared_ptr<const DeviceEvent> NcclRanks::watched_end() const {
  return std::make_shared<WatchedEnd>([this] { return is_begun(); }, done_);
}

bool NcclRanks::wait(const Deadline& deadline, const std::atomic<bool>& stop) {
  const CurrentCudaDevice current(cuda_, device_);
  return ask_until(deadline, stop, [&] { return is_begun() && done_->reached(); });
}

NcclApi::Code NcclRanks::enqueue(const Operation& operation, NcclApi::Reduction how) const {
  const View& to = operation.output;
  const ConstView& from = operation.input;
  const auto type = static_cast<NcclApi::Type>(nccl_type(to.type));
  switch (operation.kind) {
    case Operation::Kind::all_reduce:
      return nccl_.all_reduce(to.data, to.data, to.count, type, how, ranks_, stream_);
    case Operation::Kind::broadcast:
      return nccl_.broadcast(to.data, to.data, to.count, type, operation.root, ranks_, stream_);
    case Operation::Kind::reduce:
      return nccl_.reduce(to.data, to.data, to.count, type, how, operation.root, ranks_, stream_);
    case Operation::Kind::all_gather:
      return nccl_.all_gather(from.data, to.data, from.count, type, ranks_, stream_);
    case Operation::Kind::reduce_scatter:
      return nccl_.reduce_scatter(from.data, to.data, to.count, type, how, ranks_, stream_);
    default:
      BP_CHECK(false, "an operation that NCCL does not have");
  }
}

NcclApi::Reduction NcclRanks::create_scaled_sum(const Operation& operation) {
  const DataType type = operation.output.type;
  const double factor = factor_of(operation, size_);
  const auto narrow = static_cast<float>(factor);
  // NCCL reads as many bytes as the type has.
  std::array<std::byte, sizeof(double)> scalar{};
  const auto put = [&](const auto& value) { std::memcpy(scalar.data(), &value, sizeof value); };
  switch (type) {
    case DataType::f64:
      put(factor);
      break;
    case DataType::f16:
      put(to_float16(narrow));
      break;
    case DataType::bf16:
      put(to_bfloat16(narrow));
      break;
    default:
      put(narrow);
  }
  NcclApi::Reduction made = NcclApi::sum;
  require(nccl_.create_scaled_sum(&made, scalar.data(), static_cast<NcclApi::Type>(nccl_type(type)),
                                  NcclApi::kScalarOnHost, ranks_),
          "ncclRedOpCreatePreMulSum");
  scaled_sum_ = made;
  return made;
}

void NcclRanks::begin_after(const DeviceEvent* before) {
  if (before != nullptr) before->delay(stream_);
}

void NcclRanks::begin(const Operation& operation) {
  const CurrentCudaDevice current(cuda_, device_);
  done_ = nullptr;
  const bool none_runs = !last_end_ || last_end_->reached();
  require(buffers_->update(ranks_, device_, none_runs), "ncclCommRegister");
  const auto how = operation.prescale != 1
                       ? create_scaled_sum(operation)
                       : static_cast<NcclApi::Reduction>(nccl_reduction(operation.reduce));
  require(enqueue(operation, how), name_of(operation.kind).data());
}

std::shared_ptr<std::byte> NcclBuffers::allocate(std::size_t bytes, int device) {
  const NcclApi& nccl = nccl_api();
  if (nccl.allocate == nullptr) return nullptr;
  const CurrentCudaDevice current(cuda_runtime(), device);
  void* memory = nullptr;
  bytes = std::max(bytes, std::size_t{1});
  if (nccl.allocate(&memory, bytes) != NcclApi::kSuccess) return nullptr;
  const std::lock_guard lock(mutex_);
  buffers_[static_cast<std::byte*>(memory)] = {.bytes = bytes, .device = device};
  return {static_cast<std::byte*>(memory),
          [owner = shared_from_this()](std::byte* ended) { owner->end(ended); }};
}

void NcclBuffers::free(std::byte* memory, int device) const {
  const CurrentCudaDevice current(cuda_runtime(), device);
  static_cast<void>(nccl_api().free(memory));
}

void NcclBuffers::end(std::byte* memory) {
  const std::lock_guard lock(mutex_);
  const auto found = buffers_.find(memory);
  if (found->second.handle != nullptr) {
    found->second.has_ended = true;
    return;
  }
  free(memory, found->second.device);
  buffers_.erase(found);
}

NcclApi::Code NcclBuffers::update(NcclApi::Communicator ranks, int device, bool none_runs) {
  const NcclApi& nccl = nccl_api();
  const std::lock_guard lock(mutex_);
  NcclApi::Code first = NcclApi::kSuccess;
  const auto keep_first = [&](NcclApi::Code code) {
    if (first == NcclApi::kSuccess) first = code;
  };
  for (auto at = buffers_.begin(); at != buffers_.end();) {
    auto& [memory, buffer] = *at;
    if (buffer.handle == nullptr && buffer.device == device) {
      keep_first(nccl.add_buffer(ranks, memory, buffer.bytes, &buffer.handle));
    }
    if (!buffer.has_ended || !none_runs) {
      ++at;
      continue;
    }
    keep_first(nccl.remove_buffer(ranks, buffer.handle));
    free(memory, buffer.device);
    at = buffers_.erase(at);
  }
  return first;
}

void NcclBuffers::release(NcclApi::Communicator ranks) {
  {
    const std::lock_guard lock(mutex_);
    for (auto& [memory, buffer] : buffers_) {
      if (buffer.handle == nullptr) continue;
      static_cast<void>(nccl_api().remove_buffer(ranks, std::exchange(buffer.handle, nullptr)));
    }
  }
  forget();
}

void NcclBuffers::forget() {
  const std::lock_guard lock(mutex_);
  for (auto at = buffers_.begin(); at != buffers_.end();) {
    auto& [memory, buffer] = *at;
    buffer.handle = nullptr;
    if (buffer.has_ended) free(memory, buffer.device);
    at = buffer.has_ended ? buffers_.erase(at) : std::next(at);
  }
}

}  // namespace bp
