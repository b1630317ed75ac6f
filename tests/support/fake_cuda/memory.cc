#include "tests/support/fake_cuda/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "tests/support/fake_cuda/visible.h"

namespace fake_cuda {
namespace {

constexpr std::size_t kPage = 4096;

std::size_t pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }
std::uintptr_t address(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

}  // namespace

void* Memory::allocate(std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (on_devices_ + bytes > memory_of_devices()) return nullptr;
    on_devices_ += bytes;
  }
  void* const memory = map(bytes);
  const std::lock_guard lock(mutex_);
  if (memory == nullptr) on_devices_ -= bytes;
  return memory;
}

void* Memory::map(std::size_t bytes) {
  const int file = ::memfd_create("fake CUDA memory", MFD_CLOEXEC);
  if (file < 0) return nullptr;
  const std::size_t size = pages(bytes);
  void* device = MAP_FAILED;
  void* reachable = MAP_FAILED;
  if (::ftruncate(file, static_cast<off_t>(size)) == 0) {
    device = ::mmap(nullptr, size, PROT_NONE, MAP_SHARED, file, 0);
    reachable = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  ::close(file);
  if (device == MAP_FAILED || reachable == MAP_FAILED) return nullptr;
  // What is not written is not a number, so that a result that uses it is wrong.
  std::fill_n(static_cast<unsigned char*>(reachable), size, std::uint8_t{0xFF});
  const std::lock_guard lock(mutex_);
  blocks_[address(device)] = {bytes, static_cast<char*>(reachable)};
  return device;
}

void* Memory::allocate_on_host(std::size_t bytes) {
  void* const memory = std::aligned_alloc(kPage, pages(bytes));
  if (memory == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  blocks_[address(memory)] = {bytes, nullptr};
  return memory;
}

bool Memory::free(void* memory) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(address(memory));
  if (found == blocks_.end() || found->second.reachable == nullptr) return false;
  const std::size_t size = pages(found->second.bytes);
  forget(found->first, found->first + size);
  on_devices_ -= found->second.bytes;
  ::munmap(found->second.reachable, size);
  ::munmap(memory, size);
  blocks_.erase(found);
  return true;
}

bool Memory::free_on_host(void* memory) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(address(memory));
  if (found == blocks_.end() || found->second.reachable != nullptr) return false;
  forget(found->first, found->first + pages(found->second.bytes));
  blocks_.erase(found);
  std::free(memory);
  return true;
}

std::map<std::uintptr_t, Memory::Block>::iterator Memory::find(const void* memory) {
  auto after = blocks_.upper_bound(address(memory));
  if (after == blocks_.begin()) return blocks_.end();
  const auto block = std::prev(after);
  return address(memory) < block->first + block->second.bytes ? block : blocks_.end();
}

void* Memory::reachable(const void* memory, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto block = find(memory);
  if (block == blocks_.end() || block->second.reachable == nullptr)
    return const_cast<void*>(memory);
  const std::size_t offset = address(memory) - block->first;
  return offset + bytes <= block->second.bytes ? block->second.reachable + offset : nullptr;
}

bool Memory::is_asynchronous(const void* memory) {
  const std::lock_guard lock(mutex_);
  return find(memory) != blocks_.end();
}

bool Memory::is_on_device(const void* memory) {
  const std::lock_guard lock(mutex_);
  const auto block = find(memory);
  return block != blocks_.end() && block->second.reachable != nullptr;
}

std::size_t Memory::pinned() {
  const std::lock_guard lock(mutex_);
  std::size_t bytes = 0;
  for (const auto& [begin, block] : blocks_) bytes += block.reachable == nullptr ? block.bytes : 0;
  return bytes;
}

void Memory::check(const Access& access, const Clock& known) {
  const std::lock_guard lock(mutex_);
  for (const Access& other : accesses_) {
    const bool apart = other.end <= access.begin || access.end <= other.begin;
    if (apart || (!other.writes && !access.writes)) continue;
    if (known.of(other.stream) >= other.time) continue;
    std::fprintf(stderr,
                 "fake CUDA: a race: %s on stream %zu and %s on stream %zu touch the same memory, "
                 "and nothing orders them\n",
                 other.what.c_str(), other.stream, access.what.c_str(), access.stream);
    std::abort();
  }
  // An access need not be kept if this one implies it: work after this one is after the other, too.
  std::erase_if(accesses_, [&](const Access& other) {
    const bool tells = access.writes || (!other.writes && access.stream == other.stream);
    return tells && access.begin <= other.begin && other.end <= access.end;
  });
  accesses_.push_back(access);
}

void Memory::forget(std::uintptr_t begin, std::uintptr_t end) {
  std::erase_if(accesses_, [&](const Access& one) { return one.begin < end && begin < one.end; });
}

}  // namespace fake_cuda
