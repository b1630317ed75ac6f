// Owners of what the HDF5 library opens, and the reason for which it failed.
//
// Threads: the library may be used by one thread at a time.
#pragma once

#include <string>
#include <utility>

#include <hdf5.h>

namespace bp::trainer {

// An identifier, which is closed with its owner. Below 0: opening has failed.
class Hdf5Handle {
 public:
  using Close = herr_t (*)(hid_t);

  Hdf5Handle() = default;
  Hdf5Handle(hid_t id, Close closer) : id_(id), close_(closer) {}
  Hdf5Handle(Hdf5Handle&& other) noexcept
      : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Hdf5Handle() { (void)close(); }

  [[nodiscard]] hid_t get() const { return id_; }
  [[nodiscard]] bool valid() const { return id_ >= 0; }
  // Returns false if the library failed, for instance because the disk is full.
  [[nodiscard]] bool close() {
    const hid_t id = std::exchange(id_, -1);
    return id < 0 || close_(id) >= 0;
  }

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

// Call this before the library's other functions. By default it prints each error, and closes what
// is open at the end of the process, where version 1.10 crashes after a full disk.
void prepare_hdf5();

// What the library says about its last failure: the system's number of the error, or 0, and a text,
// "file signature not found". Ask before the next call, also of a Hdf5Handle: it forgets.
struct Hdf5Failure {
  int error_number = 0;
  std::string reason;
};
[[nodiscard]] Hdf5Failure hdf5_failure();

}  // namespace bp::trainer
