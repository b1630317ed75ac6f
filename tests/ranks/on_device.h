// The collectives on host memory, carried out on the memory of a device: each copies its views
// there, calls the collective, and copies the result back. The code of tests/ranks that is compiled
// after this file calls these functions by the names of those of bp.
#pragma once

#include <numeric>  // whose std::reduce must not get the name below
#include <span>

#include "bp/collective.h"
#include "tests/ranks/device_copy.h"

namespace bp::test {

// For a collective of an input and an output.
template <class Call>
void with_copies(const ConstView& input, const View& output, const Call& call) {
  const OnDevice from(input);
  const OnDevice to(output);
  call(from.view(), to.view());
  to.back(output);
}
// For one that works in place.
template <class Call>
void with_copy(const View& data, const Call& call) {
  const OnDevice there(data);
  call(there.view());
  there.back(data);
}

using Counts = std::span<const std::size_t>;
using Options = CollectiveOptions;

inline void device_all_reduce(Communicator& comm, View data, const Options& options = {}) {
  with_copy(data, [&](const View& there) { all_reduce(comm, there, options); });
}
inline void device_broadcast(Communicator& comm, View data, const Options& options = {}) {
  with_copy(data, [&](const View& there) { broadcast(comm, there, options); });
}
inline void device_reduce(Communicator& comm, View data, const Options& options = {}) {
  with_copy(data, [&](const View& there) { reduce(comm, there, options); });
}
#define BP_ON_DEVICE(name)                                                                 \
  inline void device_##name(Communicator& comm, ConstView input, View output,              \
                            const Options& options = {}) {                                 \
    with_copies(input, output,                                                             \
                [&](const View& from, const View& to) { name(comm, from, to, options); }); \
  }
#define BP_ON_DEVICE_V(name)                                                                       \
  inline void device_##name(Communicator& comm, ConstView input, View output, Counts counts,       \
                            const Options& options = {}) {                                         \
    with_copies(input, output,                                                                     \
                [&](const View& from, const View& to) { name(comm, from, to, counts, options); }); \
  }
BP_ON_DEVICE(reduce_scatter)
BP_ON_DEVICE(all_gather)
BP_ON_DEVICE(gather)
BP_ON_DEVICE(scatter)
BP_ON_DEVICE(all_to_all)
BP_ON_DEVICE_V(reduce_scatter_v)
BP_ON_DEVICE_V(all_gather_v)
BP_ON_DEVICE_V(gather_v)
BP_ON_DEVICE_V(scatter_v)
inline void device_all_to_all_v(Communicator& comm,
                                ConstView input,
                                View output,
                                const ExchangeCounts& counts,
                                const Options& options = {}) {
  with_copies(input, output, [&](const View& from, const View& to) {
    all_to_all_v(comm, from, to, counts, options);
  });
}
#undef BP_ON_DEVICE
#undef BP_ON_DEVICE_V

}  // namespace bp::test

#define all_reduce device_all_reduce
#define broadcast device_broadcast
#define reduce device_reduce
#define reduce_scatter device_reduce_scatter
#define all_gather device_all_gather
#define gather device_gather
#define scatter device_scatter
#define all_to_all device_all_to_all
#define all_to_all_v device_all_to_all_v
#define reduce_scatter_v device_reduce_scatter_v
#define all_gather_v device_all_gather_v
#define gather_v device_gather_v
#define scatter_v device_scatter_v
