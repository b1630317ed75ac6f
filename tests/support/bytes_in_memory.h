#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bp::test {

// Returns how many of these bytes are in memory, in pages that have no others.
inline std::size_t bytes_in_memory(const void* data, std::size_t bytes) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t begin = (first + page - 1) / page * page;
  const std::uintptr_t end = std::max(begin, (first + bytes) / page * page);
  std::vector<unsigned char> pages((end - begin) / page);
  EXPECT_EQ(::mincore(reinterpret_cast<void*>(begin), end - begin, pages.data()), 0);
  return page * static_cast<std::size_t>(
                    std::ranges::count_if(pages, [](unsigned char p) { return (p & 1) != 0; }));
}

}  // namespace bp::test
