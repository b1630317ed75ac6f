#include "base/system/shared_memory.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/text.h"
#include "bp/error.h"

namespace bp {
namespace {

[[noreturn]] void cannot(const char* doing, int error_number) {
  throw Error(
      ErrorCode::io,
      concat("cannot ", doing, " shared memory: ", error_text(error_number),
             error_number == EFBIG
                 ? "; the limit of a file's size is too low for it (try ulimit -f unlimited)"
                 : ""));
}

// Maps the file at a multiple of kHugePage, in the middle of addresses that it reserves for a
// moment.
std::byte* map_aligned(const Fd& file, std::size_t bytes) {
  constexpr std::size_t kHuge = SharedMemory::kHugePage;
  const std::size_t whole = (bytes + kHuge - 1) / kHuge * kHuge;
  const std::size_t reserved = whole + kHuge;
  void* const at = ::mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) cannot("map", errno);
  auto* const begin = static_cast<std::byte*>(at);
  const std::size_t before = kHuge - reinterpret_cast<std::uintptr_t>(begin) % kHuge;
  constexpr int kReplace = MAP_SHARED | MAP_FIXED;
  void* const mapped =
      ::mmap(begin + before, bytes, PROT_READ | PROT_WRITE, kReplace, file.get(), 0);
  const int error_number = errno;
  if (mapped == MAP_FAILED) {
    ::munmap(begin, reserved);
    cannot("map", error_number);
  }
  const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t end = before + (bytes + page - 1) / page * page;
  ::munmap(begin, before);
  ::munmap(begin + end, reserved - end);
  return begin + before;
}

}  // namespace

SharedMemory SharedMemory::create(const char* name, std::size_t bytes) {
  Fd file(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) cannot("make", errno);
  if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    cannot("seal", errno);
  }
  return {std::move(file), bytes};
}

SharedMemory SharedMemory::open(Fd file) {
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  if (seals < 0) cannot("open", errno);
  if ((seals & F_SEAL_SHRINK) == 0) cannot("trust", EPERM);
  struct stat about = {};
  if (::fstat(file.get(), &about) != 0) cannot("open", errno);
  return {std::move(file), static_cast<std::size_t>(about.st_size)};
}

SharedMemory::SharedMemory(Fd file, std::size_t bytes) : file_(std::move(file)) {
  bytes_ = {map_aligned(file_, bytes), bytes};
  // A failure of either does no harm. The second keeps gigabytes of gradients out of core files.
  (void)::madvise(bytes_.data(), bytes, MADV_HUGEPAGE);
  (void)::madvise(bytes_.data(), bytes, MADV_DONTDUMP);
}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

void SharedMemory::give_back(std::size_t offset, std::size_t size) {
  constexpr int kPunch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  if (::fallocate(file_.get(), kPunch, static_cast<off_t>(offset), static_cast<off_t>(size)) != 0) {
    cannot("give back", errno);
  }
}

}  // namespace bp
