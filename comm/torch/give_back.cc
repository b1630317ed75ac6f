#include "comm/torch/give_back.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace bp {

void give_back(std::span<std::byte> memory) noexcept {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(memory.data());
  const std::uintptr_t begin = (first + page - 1) / page * page;
  const std::uintptr_t end = (first + memory.size()) / page * page;
  if (begin >= end) return;
  auto* const pages = memory.data() + (begin - first);
  // The first is for shared memory; on private memory it fails.
  if (::madvise(pages, end - begin, MADV_REMOVE) == 0) return;
  (void)::madvise(pages, end - begin, MADV_DONTNEED);
}

}  // namespace bp
