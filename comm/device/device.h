// Memory wherever it lies: what code that serves every kind of device does with memory itself. Each
// kind of device has one Memory.
//
// Addresses may have any alignment. Ranges do not overlap, unless they are the same. Calls return
// when they are done, but for those of Memory::on_stream(). Threads: any.
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

// A point in the work of a stream of a device.
class Moment {
 public:
  Moment() = default;
  Moment(const Moment&) = delete;
  Moment& operator=(const Moment&) = delete;
  virtual ~Moment() = default;
  // Returns whether all work before it is done.
  [[nodiscard]] virtual bool reached() const = 0;
  // Lets what `stream` is given from now on begin after it. Does not block.
  virtual void hold(void* stream) const = 0;
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

  // Returns host memory that this memory copies from and to as fast as it can. Otherwise the same.
  [[nodiscard]] virtual std::shared_ptr<std::byte> allocate_on_host(std::size_t bytes) const = 0;

  virtual void fill(std::byte* at, std::byte value, std::size_t bytes) const = 0;
  virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes) const = 0;
  // Copies between this memory and the host's.
  virtual void write(std::byte* to, const std::byte* host, std::size_t bytes) const = 0;
  virtual void read(std::byte* host, const std::byte* from, std::size_t bytes) const = 0;

  // Copies `pieces` to `packed`, one behind the other, or back. All have one type, and together the
  // elements of `packed`.
  virtual void pack(const View& packed, std::span<const View> pieces) const = 0;
  virtual void unpack(const View& packed, std::span<const View> pieces) const = 0;

  // Multiplies each element by `factor`, and divides it by `ranks`: comm/reduce/reduce.h has the
  // rules of rounding.
  virtual void scale(const View& data, double factor) const = 0;
  virtual void finish_average(const View& data, int ranks) const = 0;
  // Converts `from` to the type of `to`: one of them is f32, the other f16 or bf16. Both have as
  // many elements (comm/reduce/halves.h). `to` may begin where `from` does if it is the narrower.
  virtual void convert(const View& to, const ConstView& from) const = 0;
  // Returns whether there is no infinity and no NaN. Integers and truth values are finite.
  [[nodiscard]] virtual bool is_finite(const ConstView& data) const = 0;

  // Returns the end of the work that `stream` has now; null where memory has no streams.
  [[nodiscard]] virtual std::shared_ptr<const Moment> record(void* stream) const = 0;
  // Returns whether the device itself scales and divides these elements. If not, the host does.
  [[nodiscard]] virtual bool computes(const ConstView& data) const = 0;
  // Returns the same memory, whose calls are added to the work of `stream` and return at once. Host
  // memory that they copy from or to must be allocate_on_host()'s. Elements that the device does
  // not compute() they refuse, and is_finite() waits. Null where memory has no streams. `stream`
  // must outlive it.
  [[nodiscard]] virtual std::unique_ptr<const Memory> on_stream(void* stream) const = 0;
  // The same with a stream of its own.
  [[nodiscard]] virtual std::unique_ptr<const Memory> on_own_stream() const = 0;
  // Of memory on a stream: the end of what it was given so far.
  [[nodiscard]] virtual std::shared_ptr<const Moment> end() const = 0;
  // Of memory on a stream: lets what it is given from now on begin after the moment.
  virtual void come_after(const Moment& moment) const = 0;
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
