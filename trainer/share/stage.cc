#include "trainer/share/stage.h"

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

#include "base/fd.h"
#include "base/text.h"
#include "bp/collective.h"
#include "bp/error.h"
#include "trainer/data/disk_space.h"
#include "trainer/data/hash.h"
#include "trainer/data/input_error.h"
#include "trainer/data/look_up.h"
#include "trainer/data/sample_store.h"
#include "trainer/data/store_error.h"

namespace bp::trainer {
namespace {

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

}  // namespace

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

}  // namespace bp::trainer
