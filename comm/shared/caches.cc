#include "comm/shared/caches.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <locale>
#include <string>

#include "base/text.h"

namespace bp {
namespace {

struct LastCaches {
  std::size_t bytes = std::size_t{32} << 20;  // of one; this where the kernel does not say
  int count = 1;
};

// Counts the cores in a list of the kernel's, as "0-3,8-11".
int cores_in(std::istream& list) {
  int cores = 0;
  for (int first = 0; list >> first; list.ignore()) {  // the comma
    int last = first;
    if (list.peek() == '-') list.ignore() >> last;
    cores += last - first + 1;
  }
  return cores;
}

// sysconf() also knows a size, but glibc 2.36 gives ten times that of one cache on some machines.
LastCaches read_last_caches() {
  LastCaches last;
  for (int index = 0;; ++index) {
    const std::string folder = concat("/sys/devices/system/cpu/cpu0/cache/index", index, "/");
    std::ifstream size(folder + "size");
    size.imbue(std::locale::classic());
    std::size_t kibibytes = 0;  // as "32768K"
    if (!(size >> kibibytes)) return last;
    std::ifstream sharers(folder + "shared_cpu_list");
    sharers.imbue(std::locale::classic());  // another one may take the commas for parts of numbers
    const int cores = std::max(1, cores_in(sharers));
    last.bytes = kibibytes << 10;
    last.count = std::max(1, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)) / cores);
  }
}

}  // namespace

std::size_t last_caches_bytes(int ranks) {
  static const LastCaches kLast = read_last_caches();
  return kLast.bytes * static_cast<std::size_t>(std::clamp(ranks, 1, kLast.count));
}

}  // namespace bp
