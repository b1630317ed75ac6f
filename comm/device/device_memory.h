// Operations on the memory of one device, the same for every kind of device.
//
// Addresses may have any alignment. Two ranges must be the same or must not overlap. A call returns
// when its work is complete, except on a Memory that on_stream() returned. Threads: any.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "bp/error.h"
#include "bp/types.h"

namespace bp {

// A device or its library has failed. Every function here may throw it.
class DeviceFailure : public Error {
 public:
  explicit DeviceFailure(const std::string& text) : Error(ErrorCode::io, text) {}
};

// Completes when the work that a stream had at one point is complete: an event of CUDA.
class DeviceEvent {
 public:
  DeviceEvent() = default;
  DeviceEvent(const DeviceEvent&) = delete;
  DeviceEvent& operator=(const DeviceEvent&) = delete;
  virtual ~DeviceEvent() = default;
  // Returns whether it is complete.
  [[nodiscard]] virtual bool reached() const = 0;
  // Makes work that is added to `stream` later begin after this event. Returns at once.
  virtual void delay(void* stream) const = 0;
};

class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  virtual ~Memory() = default;

  // Returns `bytes` of memory, aligned to 64 bytes and of undefined content. It is freed with the
  // last copy of the pointer. Throws std::bad_alloc.
  [[nodiscard]] virtual std::shared_ptr<std::byte> allocate(std::size_t bytes) const = 0;

  // Does the same on the host, in memory from and to which this device copies fastest (pinned).
  [[nodiscard]] virtual std::shared_ptr<std::byte> allocate_on_host(std::size_t bytes) const = 0;

  virtual void fill(std::byte* at, std::byte value, std::size_t bytes) const = 0;
  virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes) const = 0;
  // Copies between this memory and the host's.
  virtual void write(std::byte* to, const std::byte* host, std::size_t bytes) const = 0;
  virtual void read(std::byte* host, const std::byte* from, std::size_t bytes) const = 0;

  // Copies `pieces` to `packed`, one after another, or back. All have the type of `packed`, and
  // their counts add up to its count.
  virtual void pack(const View& packed, std::span<const View> pieces) const = 0;
  virtual void unpack(const View& packed, std::span<const View> pieces) const = 0;

  // Multiplies each element by `factor`, and divides it by `ranks`: comm/reduce/reduce.h has the
  // rules of rounding.
  virtual void scale(const View& data, double factor) const = 0;
  virtual void finish_average(const View& data, int ranks) const = 0;
  // Converts `from` to the type of `to`: one of them is f32, the other f16 or bf16
  // (comm/reduce/halves.h). Their counts must be equal. `to` may begin where `from` does if its
  // type is the narrower one.
  virtual void convert(const View& to, const ConstView& from) const = 0;
  // Returns whether there is no infinity and no NaN. Integers and truth values are finite.
  [[nodiscard]] virtual bool is_finite(const ConstView& data) const = 0;

  // Returns an event that follows the work that `stream` has now; null if the device has no
  // streams.
  [[nodiscard]] virtual std::shared_ptr<const DeviceEvent> record(void* stream) const = 0;
  // Returns whether the device itself scales and divides these elements; otherwise the host does.
  [[nodiscard]] virtual bool computes(const ConstView& data) const = 0;
  // Returns this memory with calls that add their work to `stream` and return at once; null if the
  // device has no streams. Host memory that they copy from or to must come from
  // allocate_on_host(). They refuse elements for which computes() is false, and is_finite() blocks.
  // `stream` must outlive the result.
  [[nodiscard]] virtual std::unique_ptr<const Memory> on_stream(void* stream) const = 0;
  // Does the same with a stream that the result owns.
  [[nodiscard]] virtual std::unique_ptr<const Memory> on_own_stream() const = 0;
  // Only on a Memory that is on a stream: returns an event that follows all its calls so far.
  [[nodiscard]] virtual std::shared_ptr<const DeviceEvent> end() const = 0;
  // Only on a Memory that is on a stream: makes later calls begin after `event`.
  virtual void wait_for(const DeviceEvent& event) const = 0;
};

// Returns the device of this kind that the rank with this number on its host uses: the devices that
// its process sees, by turns. Throws `unavailable`, with the reason, if it sees none.
[[nodiscard]] Device own_device(Device::Kind kind, int local_rank);

// Returns the memory of a device. Throws `unavailable`, with the reason, for one that this process
// does not have.
[[nodiscard]] const Memory& memory_of(const Device& device);

// The host's memory, which every build serves.
[[nodiscard]] const Memory& host_memory();

}  // namespace bp
