#include "comm/transport/gloo.h"

#include <dlfcn.h>

#include <atomic>
#include <vector>

#include "base/system/plugin.h"
#include "base/text.h"
#include "comm/peers/connect_peers.h"

namespace bp {
namespace {

namespace plugin = gloo_plugin;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// The sanitizers allow no RTLD_DEEPBIND. gloo_plugin/CMakeLists.txt says what replaces it.
constexpr int kOpenFlags = RTLD_NOW | RTLD_LOCAL;
#else
constexpr int kOpenFlags = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

const plugin::Table& open_plugin() {
  const FoundPlugin found = find_plugin("libbp_gloo.so");
  if (found.path.empty()) {
    throw Error(ErrorCode::unavailable, concat("libbp_gloo.so was not found in: ", found.tried,
                                               "; set BP_PLUGIN_DIR to its folder"));
  }
  // Never closed, because Gloo's threads may still be running its code when they end.
  const OpenedLibrary library = open_library(found.path, kOpenFlags);
  if (library.handle == nullptr) {
    throw Error(ErrorCode::unavailable, concat("the Gloo plugin does not load: ", library.problem));
  }
  auto* const entry = reinterpret_cast<plugin::Entry*>(::dlsym(library.handle, plugin::kEntry));
  if (entry == nullptr || entry()->version != plugin::kVersion) {
    throw Error(ErrorCode::unavailable,
                concat(found.path, " is of another version of bp than this program"));
  }
  return *entry();
}

ErrorCode code_of(const plugin::Failure& failure) {
  switch (failure.kind) {
    case plugin::Failure::lost:
      return ErrorCode::peer_lost;
    case plugin::Failure::timeout:
      return ErrorCode::timeout;
    default:
      return ErrorCode::io;
  }
}

[[noreturn]] void raise(const plugin::Failure& failure) {
  throw TransportFailure(code_of(failure), failure.text);
}

// Gloo's own connect accepts the first process that connects as the peer. bp gives Gloo connections
// on which the peer has proved the job's key instead.
void* connect_gloo(const plugin::Table& table, const GlooOptions& options, Store& store) {
  const PeerGroup group{.rank = options.rank,
                        .first = 0,
                        .count = options.size,
                        .key = options.key,
                        .timeout = options.timeout,
                        .keys = "",
                        .purpose = "connect",
                        .with = "to",
                        .hint = " (is another interface, BP_INTERFACE, the one that reaches it?)"};
  std::vector<int> connections;
  for (Fd& fd : connect_peers(group, listen_tcp(options.listen), store)) {
    connections.push_back(fd.release());
  }
  plugin::ConnectOptions connect;
  connect.rank = options.rank;
  connect.size = options.size;
  connect.interface = options.listen.interface.c_str();
  connect.address = options.listen.address.c_str();
  connect.timeout_ms = options.timeout.count();
  connect.batch_thread = !options.as_packaged;
  connect.connections = connections.data();
  plugin::Failure failure;
  void* const context = table.connect(&connect, &failure);
  if (context != nullptr) return context;
  throw Error(code_of(failure), concat("rank ", options.rank, " of ", options.size,
                                       " cannot use its connections: ", failure.text));
}

std::int64_t nanoseconds_of(const Deadline& deadline) {
  using std::chrono::nanoseconds;
  return std::chrono::duration_cast<nanoseconds>(deadline.at().time_since_epoch()).count();
}

class GlooTransfer : public Transfer {
 public:
  GlooTransfer(const plugin::Table& table, void* context, const plugin::Posting& posting)
      : table_(table) {
    plugin::Failure failure;
    transfer_ = table_.post(context, &posting, &failure);
    if (transfer_ == nullptr) raise(failure);
  }
  ~GlooTransfer() override { table_.release(transfer_); }

  [[nodiscard]] bool wait(const Deadline& deadline, const std::atomic<bool>& stop) override {
    plugin::Failure failure;
    const std::int32_t result = table_.wait(transfer_, nanoseconds_of(deadline), &stop, &failure);
    if (result < 0) raise(failure);
    return result > 0;
  }

 private:
  const plugin::Table& table_;
  void* transfer_ = nullptr;
};

}  // namespace

const plugin::Table& load_gloo_plugin() {
  static const plugin::Table& table = open_plugin();
  return table;
}

GlooTransport::GlooTransport(const GlooOptions& options, Store& store)
    : rank_(options.rank),
      size_(options.size),
      table_(load_gloo_plugin()),
      context_(connect_gloo(table_, options, store)) {}

GlooTransport::~GlooTransport() { table_.disconnect(context_); }

std::unique_ptr<Transfer> GlooTransport::post_receive(int peer,
                                                      std::uint64_t slot,
                                                      std::span<std::byte> into) {
  const plugin::Posting posting{false, peer, slot, into.data(), into.size()};
  return std::make_unique<GlooTransfer>(table_, context_, posting);
}

std::unique_ptr<Transfer> GlooTransport::post_send(int peer,
                                                   std::uint64_t slot,
                                                   std::span<const std::byte> from) {
  const plugin::Posting posting{true, peer, slot, const_cast<std::byte*>(from.data()), from.size()};
  return std::make_unique<GlooTransfer>(table_, context_, posting);
}

std::optional<Undelivered> GlooTransport::deliver(const Deadline& deadline,
                                                  const std::atomic<bool>& stop) {
  plugin::Undelivered left;
  plugin::Failure failure;
  const std::int32_t result =
      table_.deliver(context_, nanoseconds_of(deadline), &stop, &left, &failure);
  if (result < 0) raise(failure);
  if (result > 0) return std::nullopt;
  return Undelivered{.peer = left.peer, .bytes = left.bytes};
}

std::optional<LinkState> GlooTransport::look(int peer) {
  plugin::LinkState state;
  if (!table_.look(context_, peer, &state)) return std::nullopt;
  return LinkState{.acknowledged = state.acknowledged,
                   .arrived = state.arrived,
                   .in_flight = state.in_flight,
                   .unanswered = state.unanswered};
}

void GlooTransport::wake() { table_.wake(context_); }

void GlooTransport::run_native(const plugin::NativeCall& call) {
  plugin::Failure failure;
  if (!table_.run_native(context_, &call, &failure)) raise(failure);
}

}  // namespace bp
