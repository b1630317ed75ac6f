#include "comm/shared/arena.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <iterator>

#include "base/text.h"
#include "bp/error.h"

namespace bp {
namespace {

std::size_t rounded_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

std::size_t page_bytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

std::size_t machine_memory() {
  return static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * page_bytes();
}

std::size_t arena_bytes(int ranks, std::size_t memory) {
  std::size_t all = std::size_t{1} << 45;
  rlimit limit = {};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    all = std::min<std::size_t>(all, limit.rlim_cur / 2);  // the program gets the other half
  }
  return std::min(memory, all / static_cast<std::size_t>(ranks) / page_bytes() * page_bytes());
}

Arena::Arena(std::shared_ptr<SharedMemory> memory, std::size_t begin, std::size_t bytes)
    : memory_(std::move(memory)), begin_(begin), all_(memory_->bytes().subspan(begin, bytes)) {
  gaps_.emplace(0, bytes);
}

std::size_t Arena::allocate(std::size_t bytes) {
  const std::size_t page = page_bytes();
  const std::size_t wanted = rounded_up(std::max(bytes, std::size_t{1}), page);
  const std::size_t unit = wanted < SharedMemory::kHugePage ? page : SharedMemory::kHugePage;
  const std::lock_guard lock(mutex_);
  const auto gap = std::ranges::find_if(gaps_, [&](const auto& each) {
    return rounded_up(each.first, unit) + wanted <= each.first + each.second;
  });
  if (gap == gaps_.end()) {
    throw Error(ErrorCode::io, concat("no ", bytes, " bytes of shared memory are left"));
  }
  const auto [begin, size] = *gap;
  const std::size_t offset = rounded_up(begin, unit);
  gaps_.erase(gap);
  if (offset > begin) gaps_.emplace(begin, offset - begin);
  const std::size_t end = offset + wanted;
  if (begin + size > end) gaps_.emplace(end, begin + size - end);
  pieces_.emplace(offset, wanted);
  return offset;
}

void Arena::release(std::size_t offset) noexcept {
  const std::lock_guard lock(mutex_);
  const auto piece = pieces_.find(offset);
  if (piece == pieces_.end()) return;
  auto [begin, size] = *piece;
  pieces_.erase(piece);
  try {
    memory_->give_back(begin_ + begin, size);
  } catch (const std::exception&) {
    return;  // its pages are not zeros, so it is not allocated again
  }
  const auto next = gaps_.find(begin + size);
  if (next != gaps_.end()) {
    size += next->second;
    gaps_.erase(next);
  }
  const auto after = gaps_.upper_bound(begin);
  if (after != gaps_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == begin) {
      before->second += size;
      return;
    }
  }
  gaps_.emplace(begin, size);
}

std::optional<std::size_t> Arena::offset_of(const std::byte* data, std::size_t bytes) const {
  const std::less_equal<> not_after;
  const bool is_inside =
      not_after(all_.data(), data) && not_after(data + bytes, all_.data() + all_.size());
  return is_inside ? std::optional(static_cast<std::size_t>(data - all_.data())) : std::nullopt;
}

}  // namespace bp
