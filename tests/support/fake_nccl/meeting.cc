#include "tests/support/fake_nccl/meeting.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace fake_nccl {
namespace {

void* map(const std::string& name, std::size_t bytes, int flags) {
  const int file = ::shm_open(name.c_str(), O_RDWR | flags, 0600);
  void* memory = MAP_FAILED;
  if (file >= 0 && ::ftruncate(file, static_cast<off_t>(bytes)) == 0) {
    memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  if (file >= 0) ::close(file);
  if (memory == MAP_FAILED) {
    std::perror("fake NCCL: shared memory");
    std::abort();
  }
  return memory;
}

}  // namespace

std::string Meeting::create() {
  static std::atomic<int> made{0};
  const std::string name =
      "/bp-fake-nccl-" + std::to_string(::getpid()) + "-" + std::to_string(++made);
  ::munmap(map(name, sizeof(Area), O_CREAT | O_EXCL), sizeof(Area));  // of zeros
  return name;
}

Meeting::Meeting(const std::string& name, int ranks, int rank)
    : name_(name),
      ranks_(ranks),
      rank_(rank),
      area_(static_cast<Area*>(map(name, sizeof(Area), 0))) {}

Meeting::~Meeting() { ::munmap(area_, sizeof(Area)); }

void Meeting::arrive(int device) {
  area_->devices[rank_] = device;
  if (++area_->arrived == ranks_) ::shm_unlink(name_.c_str());
}
bool Meeting::all_arrived() const { return area_->arrived == ranks_; }
int Meeting::device_of(int rank) const { return area_->devices[rank]; }
void Meeting::leave() { ++area_->left; }
bool Meeting::all_left() const { return area_->left == ranks_; }

bool Meeting::meet(const std::atomic<bool>& aborted) {
  const std::uint64_t all = ++meetings_ * static_cast<std::uint64_t>(ranks_);
  for (++area_->met; area_->met < all;) {
    if (aborted) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return !aborted;
}

bool Meeting::exchange(const std::function<void(std::byte* mine)>& write,
                       const std::function<void()>& read,
                       const std::atomic<bool>& aborted) {
  write(area_->chunks[rank_]);
  if (!meet(aborted)) return false;
  read();
  return meet(aborted);
}

}  // namespace fake_nccl
