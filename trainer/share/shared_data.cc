#include "trainer/share/shared_data.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/check.h"
#include "base/input_error.h"
#include "base/system/fd.h"
#include "base/text.h"
#include "bp/collective.h"
#include "bp/error.h"
#include "trainer/common/hash.h"
#include "trainer/common/look_up.h"
#include "trainer/common/whole_file.h"
#include "trainer/prepare/plan.h"
#include "trainer/prepare/prepare.h"
#include "trainer/run/store_users.h"
#include "trainer/store/sample_store.h"

namespace bp::trainer {
namespace {

// --stage: sends the store of rank 0 to the hosts that lack it.

namespace fs = std::filesystem;

constexpr std::size_t kChunk = std::size_t{4} << 20;
constexpr std::chrono::seconds kBetweenReports{1};
// For at most this time hosts wait for others to receive. A death is noticed long before.
constexpr std::chrono::hours kTimeout{24};

// What rank 0 can send. It is broadcast byte by byte, so it holds no pointers.
struct Offer {
  std::array<char, 32> identity{};
  std::uint64_t bytes = 0;
};

[[noreturn]] void fail(const char* doing, const std::string& path, int reason) {
  throw Error(ErrorCode::io, concat("cannot ", doing, " ", path, ": ", error_text(reason)));
}

void share(Communicator& group, std::span<std::uint8_t> bytes) {
  broadcast(group, view(bytes), {.root = 0, .name = "store", .timeout = kTimeout});
}

Offer make_offer(const std::string& path) {
  Offer offer;
  const std::string identity = SampleStore::open(path).identity();
  std::copy_n(identity.begin(), std::min(identity.size(), offer.identity.size()),
              offer.identity.begin());
  offer.bytes = size_of_file(path);
  return offer;
}

// Returns whether the store at `path` is the offered one, undamaged.
bool has(const std::string& path, const Offer& offer, const std::string& host) {
  std::error_code error;
  if (!fs::exists(path, error)) return false;
  try {
    const SampleStore store = SampleStore::open(path);
    if (store.identity() != std::string_view(offer.identity.data(), offer.identity.size())) {
      return false;
    }
    store.verify();
    return true;
  } catch (const StoreError& problem) {
    if (problem.kind() == StoreError::Kind::replaceable) return false;
    throw InputError(
        problem.exit_code(), concat("on ", host, ", ", problem.what()),
        "bert_train does not replace it; name another file for the store with --store");
  }
}

void check_room(const std::string& path, std::uint64_t bytes, const std::string& host) {
  const auto free = free_space(path);
  if (!free || *free >= bytes) return;
  throw InputError(70,
                   concat(host, " has no room for the store ", path, ": it needs ",
                          size_text(bytes), ", and ", size_text(*free), " are free"),
                   "make room, or name a file on another disk with --store");
}

// Makes the folder of `path`, and removes what killed receivers left there. It ignores errors,
// since the opening of the file will report them.
void prepare_folder_of(const std::string& path, const std::string& prefix) {
  std::error_code ignored;
  fs::create_directories(fs::path(path).parent_path(), ignored);
  for (const std::string& file : files_that_begin(prefix)) fs::remove(file, ignored);
}

// The file that is being received. The destructor removes it unless keep() was called.
class Incoming {
 public:
  explicit Incoming(std::string path)
      : path_(std::move(path)), part_(concat(path_, ".stage-", ::getpid())) {
    prepare_folder_of(path_, path_ + ".stage-");
    file_ = Fd(::open(part_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!file_) fail("create", part_, errno);
  }
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;
  ~Incoming() {
    if (!kept_) ::unlink(part_.c_str());
  }

  void write(std::span<const std::uint8_t> bytes) {
    if (write_all(file_.get(), bytes.data(), bytes.size()) < bytes.size()) {
      fail("write", part_, errno);
    }
  }

  void keep() {
    if (::fsync(file_.get()) != 0) fail("write", part_, errno);
    if (std::rename(part_.c_str(), path_.c_str()) != 0) fail("write", path_, errno);
    kept_ = true;
  }

 private:
  std::string path_;
  std::string part_;
  Fd file_;
  bool kept_ = false;
};

// Rank 0 of the group.
void send(Communicator& group, const std::string& path, const Offer& offer, const Say& say) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) fail("read", path, errno);
  const std::string what =
      concat("sending the store to ", group.size() - 1, group.size() == 2 ? " host" : " hosts");
  auto next_report = std::chrono::steady_clock::now();
  std::vector<std::uint8_t> chunk(kChunk);
  Hash hash;
  for (std::uint64_t sent = 0; sent < offer.bytes;) {
    if (const auto now = std::chrono::steady_clock::now(); now >= next_report) {
      next_report = now + kBetweenReports;
      say(concat(what, ": ", size_text(sent), " of ", size_text(offer.bytes)));
    }
    const auto wanted = std::min<std::uint64_t>(kChunk, offer.bytes - sent);
    const ssize_t n = ::pread(file.get(), chunk.data(), wanted, static_cast<off_t>(sent));
    if (n < static_cast<ssize_t>(wanted)) fail("read", path, n < 0 ? errno : EIO);
    const std::span bytes(chunk.data(), wanted);
    hash.add({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    share(group, bytes);
    sent += wanted;
  }
  std::string hex = hash.hex();
  share(group, {reinterpret_cast<std::uint8_t*>(hex.data()), hex.size()});
}

void receive(Communicator& group, const std::string& path, const Offer& offer) {
  Incoming incoming(path);
  std::vector<std::uint8_t> chunk(kChunk);
  Hash hash;
  for (std::uint64_t received = 0; received < offer.bytes;) {
    const std::span bytes(chunk.data(), std::min<std::uint64_t>(kChunk, offer.bytes - received));
    share(group, bytes);
    hash.add({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    incoming.write(bytes);
    received += bytes.size();
  }
  const std::string here = hash.hex();
  std::string there(here.size(), '\0');
  share(group, {reinterpret_cast<std::uint8_t*>(there.data()), there.size()});
  if (here != there) {
    throw Error(ErrorCode::io, concat("the store that arrived for ", path,
                                      " differs from the one that was sent; start the job again"));
  }
  incoming.keep();
}

// Collective. Rank 0 must have a complete store at `path`. Afterwards every host has a store with
// the same bytes at `path`, which may be one file in a shared folder. A host without it, or with
// another or damaged one, receives it into a temporary file, compares its hash and renames it.
// `say` gets progress lines on rank 0. Throws on the rank that met the problem: InputError with the
// host's name if a file that is not a store lies there (65) or the disk has too little room (70);
// Error (io).
void stage_store(Communicator& world, const std::string& path, const Say& say) {
  const Topology& topology = world.topology();
  Offer offer;
  if (world.rank() == 0) offer = make_offer(path);
  share(world, {reinterpret_cast<std::uint8_t*>(&offer), sizeof(offer)});

  bool lacks = false;
  if (world.rank() != 0 && topology.local_rank() == 0) {
    const std::string host = topology.host_name(topology.host());
    lacks = !has(path, offer, host);
    if (lacks) check_room(path, offer.bytes, host);
  }
  std::vector<std::int64_t> count = {lacks ? 1 : 0};
  all_reduce(world, view(std::span(count)),
             {.name = "hosts without the store", .timeout = kTimeout});
  if (count[0] == 0) return;

  const bool takes_part = world.rank() == 0 || lacks;
  Communicator group = world.split(takes_part ? 1 : 0);
  if (world.rank() == 0) {
    send(group, path, offer, say);
  } else if (lacks) {
    receive(group, path, offer);
  }
  barrier(world, {.name = "store sent", .timeout = kTimeout});
}

// For at most this time ranks wait for others to prepare. The death of a preparer is noticed long
// before, by its lease and by the job's store.
constexpr std::chrono::hours kPrepareTimeout{24};

struct MadeStore {
  std::string path = {};
  std::string identity = {};
};

// Prepares the store unless it is there, and reads all of it.
MadeStore make_store(const JobData& data, const Say& say) {
  MadeStore made{data.prepare.source};
  if (!data.is_store) {
    made.path = prepare(data.prepare, say).store;
  } else if (data.prepare.rebuild) {
    throw InputError(2, concat("--rebuild needs the text file, and ", made.path, " is a store"),
                     "give the text file that it came from, and name the store with --store");
  }
  const SampleStore store = SampleStore::open(made.path);
  store.verify();
  made.identity = store.identity();
  return made;
}

// The same on a leader that is not rank 0. The error for a missing file names the host.
MadeStore make_store_there(const Topology& topology, const JobData& data) {
  try {
    return make_store(data, [](const std::string&) {});
  } catch (const InputError& error) {
    constexpr int kNotThere = 66;
    if (error.exit_code() != kNotThere) throw;
    throw InputError(kNotThere,
                     concat("on ", topology.host_name(topology.host()), ", ", error.what()),
                     "copy it there, or let rank 0 send its store to all hosts with --stage");
  }
}

void compare_identities(Communicator& world, const std::string& identity) {
  const auto all = all_gather_object(world, identity, {.name = "store identity"});
  for (int rank = 0; rank < world.size(); ++rank) {
    if (all[static_cast<std::size_t>(rank)] == all.front()) continue;
    const Topology& topology = world.topology();
    throw InputError(
        65,
        concat("the store of ", topology.host_name(topology.place_of(rank).host), " (rank ", rank,
               ") does not hold the same samples as that of ", topology.host_name(0), " (rank 0)"),
        "copy one store to every host, or let rank 0 send its own to all with --stage");
  }
}

}  // namespace

std::string of_leader(Communicator& world, const std::string& mine) {
  const auto all = all_gather_object(world, mine, {.name = "path of the store"});
  const Topology& topology = world.topology();
  std::size_t rank = 0;
  while (topology.place_of(static_cast<int>(rank)).host != topology.host()) ++rank;
  return all[rank];
}

JobData job_data(Communicator& world, const DataOptions& options) {
  JobData data{.prepare = options.prepare, .stage = options.stage};
  data.prepare.needed_by = run_that_needs;
  if (is_store_name(data.prepare.source)) {
    std::string kind = is_store(data.prepare.source) ? "store" : "";
    broadcast_object(world, kind, {.name = "kind of the data"});
    data.is_store = !kind.empty();
  }
  return data;
}

std::string prepare_everywhere(Communicator& world, const JobData& data, const Say& say) {
  const CollectiveOptions patient{.name = "store prepared", .timeout = kPrepareTimeout};
  const Topology& topology = world.topology();
  MadeStore made;
  if (world.rank() == 0) {
    made = make_store(data, say);
  } else if (topology.local_rank() == 0 && !data.stage) {
    made = make_store_there(topology, data);
  }
  barrier(world, patient);
  if (data.stage) {
    // A host without the data cannot tell which name its store gets.
    std::string name = std::filesystem::path(made.path).filename();
    broadcast_object(world, name, {.name = "name of the store"});
    const std::string usual = data.is_store ? data.prepare.source : store_path(data.prepare);
    made.path = std::filesystem::path(usual).replace_filename(name);
    stage_store(world, made.path, say);
  } else {
    made.path = of_leader(world, made.path);
  }
  if (made.identity.empty()) made.identity = SampleStore::open(made.path).identity();
  compare_identities(world, made.identity);
  return made.path;
}

}  // namespace bp::trainer
