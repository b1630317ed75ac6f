#include "comm/transport/gloo.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "base/system/plugin.h"
#include "base/text.h"
#include "comm/peers/peer_connections.h"

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

// How often a rank that waits for all connections asks the store whether the job has failed.
constexpr std::chrono::milliseconds kLookAtJob{100};

constexpr const char* kHint = " (is another interface, BP_INTERFACE, the one that reaches it?)";

// Gloo's own connect accepts the first process that connects as the peer. bp gives Gloo connections
// on which the peer has proved the job's key instead.
void* open_context(const plugin::Table& table, const GlooOptions& options) {
  plugin::ConnectOptions connect;
  connect.rank = options.rank;
  connect.size = options.size;
  connect.interface = options.listen.interface.c_str();
  connect.address = options.listen.address.c_str();
  connect.timeout_ms = options.timeout.count();
  connect.batch_thread = !options.as_packaged;
  plugin::Failure failure;
  void* const context = table.connect(&connect, &failure);
  if (context != nullptr) return context;
  throw Error(code_of(failure), concat("rank ", options.rank, " of ", options.size,
                                       " cannot use its address: ", failure.text));
}

std::int64_t nanoseconds_of(const Deadline& deadline) {
  using std::chrono::nanoseconds;
  return std::chrono::duration_cast<nanoseconds>(deadline.at().time_since_epoch()).count();
}

}  // namespace

// A transfer. It waits in its link until there is a connection.
class GlooTransport::Message : public Transfer {
 public:
  Message(GlooTransport& transport, const plugin::Posting& posting)
      : transport_(transport), link_(transport.link(posting.peer)), posting_(posting) {
    if (link_.is_connected.load(std::memory_order_acquire)) {
      post();
      return;
    }
    const std::lock_guard lock(transport_.mutex_);
    if (link_.failure) throw TransportFailure(*link_.failure);
    if (link_.is_connected.load(std::memory_order_relaxed)) {
      post();
      return;
    }
    link_.waiting.push_back(this);
    is_waiting_ = true;
  }
  ~Message() override {
    if (is_waiting_) {
      const std::lock_guard lock(transport_.mutex_);
      std::erase(link_.waiting, this);
    }
    if (transfer_ != nullptr) transport_.table_.release(transfer_);
  }

  void post() {
    plugin::Failure failure;
    transfer_ = transport_.table_.post(transport_.context_.get(), &posting_, &failure);
    if (transfer_ == nullptr) raise(failure);
  }
  [[nodiscard]] bool is_waiting() const { return is_waiting_; }

  [[nodiscard]] bool wait(const Deadline& deadline, const std::atomic<bool>& stop) override {
    if (is_waiting_ && !wait_for_connection(deadline, stop)) return false;
    plugin::Failure failure;
    const std::int32_t result =
        transport_.table_.wait(transfer_, nanoseconds_of(deadline), &stop, &failure);
    if (result < 0) raise(failure);
    return result > 0;
  }

 private:
  [[nodiscard]] bool wait_for_connection(const Deadline& deadline, const std::atomic<bool>& stop) {
    std::unique_lock lock(transport_.mutex_);
    transport_.changed_.wait_until(lock, deadline.at(), [&] {
      return transfer_ != nullptr || link_.failure || stop.load(std::memory_order_acquire);
    });
    if (transfer_ == nullptr && link_.failure) throw TransportFailure(*link_.failure);
    is_waiting_ = transfer_ == nullptr;
    return !is_waiting_;
  }

  GlooTransport& transport_;
  Link& link_;
  const plugin::Posting posting_;
  bool is_waiting_ = false;   // until its owner knows that it is posted
  void* transfer_ = nullptr;  // guarded by the transport's mutex while it waits
};

const plugin::Table& load_gloo_plugin() {
  static const plugin::Table& table = open_plugin();
  return table;
}

GlooTransport::GlooTransport(const GlooOptions& options, Store& store)
    : options_(options),
      table_(load_gloo_plugin()),
      store_(store),
      context_(open_context(table_, options), table_.disconnect),
      links_(static_cast<std::size_t>(options.size)) {
  Listening own = listen_tcp(options.listen);
  address_ = own.at.name();
  const std::string published = own.at.encode();
  try {
    connections_ = std::make_unique<PeerConnections>(
        PeerConnections::Settings{.rank = options.rank,
                                  .count = options.size,
                                  .key = options.key,
                                  .answer_within = options.timeout},
        std::move(own),
        PeerConnections::Owner{
            .on_connected = [this](int peer, Fd fd) { connected(peer, std::move(fd)); },
            .on_failure = [this](int peer, const auto& why) { cannot_connect(peer, why); }});
  } catch (const std::system_error& error) {  // Asio's
    throw Error(ErrorCode::io, concat("rank ", options.rank, " cannot connect to the others: ",
                                      error_text(error.code().value())));
  }
  store_.set(concat(options.keys, options.rank), published);
}

GlooTransport::~GlooTransport() { connect_no_more(); }

// The thread of the connections is joined without the mutex, which it needs.
void GlooTransport::connect_no_more() {
  std::unique_ptr<PeerConnections> ended;
  const std::lock_guard lock(mutex_);
  ended.swap(connections_);
}

// Blocks for an answer of the store, since the peer publishes its address before it uses any.
void GlooTransport::want(int peer) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(link(peer).is_wanted, true)) return;
  }
  try {
    const auto at = Endpoint::decode(store_.get(concat(options_.keys, peer), options_.timeout));
    if (!at) return fail(peer, {ErrorCode::io, "it published an address of another form"});
    const std::lock_guard lock(mutex_);
    if (connections_) connections_->connect_to(peer, *at);
  } catch (const Error& error) {
    fail(peer, {error.code(), concat("its address is not known: ", error.what())});
  }
}

void GlooTransport::connected(int peer, Fd connection) {
  const std::lock_guard lock(mutex_);
  Link& to = link(peer);
  if (to.is_connected.load(std::memory_order_relaxed) || to.failure) return;
  try {
    plugin::Failure failure;
    if (!table_.adopt(context_.get(), peer, connection.get(), &failure)) raise(failure);
    static_cast<void>(connection.release());
    for (Message* const message : to.waiting) message->post();
    to.is_connected.store(true, std::memory_order_release);
  } catch (const TransportFailure& why) {
    to.failure = why;
  }
  to.waiting.clear();
  changed_.notify_all();
}

void GlooTransport::fail(int peer, const TransportFailure& why) {
  const std::lock_guard lock(mutex_);
  Link& to = link(peer);
  if (!to.is_wanted || to.is_connected.load(std::memory_order_relaxed) || to.failure) return;
  to.failure = why;
  to.waiting.clear();
  changed_.notify_all();
}

void GlooTransport::cannot_connect(int peer, const std::string& why) {
  const bool no_descriptor = why == error_text(EMFILE) || why == error_text(ENFILE);
  const std::string text = concat(why, no_descriptor ? "; raise the limit (ulimit -n)" : kHint);
  if (peer >= 0) {
    const bool has_ended = why == error_text(ECONNREFUSED);  // it has listened there before
    return fail(peer, {has_ended ? ErrorCode::peer_lost : ErrorCode::io,
                       concat("cannot connect to it: ", text)});
  }
  for (int other = 0; other < options_.size; ++other) {
    fail(other, {ErrorCode::io, concat("cannot accept it at ", address_, ": ", text)});
  }
}

std::unique_ptr<Transfer> GlooTransport::post(const plugin::Posting& posting) {
  auto message = std::make_unique<Message>(*this, posting);
  if (message->is_waiting()) want(posting.peer);
  return message;
}

std::unique_ptr<Transfer> GlooTransport::post_receive(int peer,
                                                      std::uint64_t slot,
                                                      std::span<std::byte> into) {
  return post(
      {.send = false, .peer = peer, .slot = slot, .data = into.data(), .bytes = into.size()});
}

std::unique_ptr<Transfer> GlooTransport::post_send(int peer,
                                                   std::uint64_t slot,
                                                   std::span<const std::byte> from) {
  auto* const data = const_cast<std::byte*>(from.data());
  return post({.send = true, .peer = peer, .slot = slot, .data = data, .bytes = from.size()});
}

std::optional<Undelivered> GlooTransport::deliver(const Deadline& deadline,
                                                  const std::atomic<bool>& stop) {
  connect_no_more();
  plugin::Undelivered left;
  plugin::Failure failure;
  const std::int32_t result =
      table_.deliver(context_.get(), nanoseconds_of(deadline), &stop, &left, &failure);
  if (result < 0) raise(failure);
  if (result > 0) return std::nullopt;
  return Undelivered{.peer = left.peer, .bytes = left.bytes};
}

std::optional<LinkState> GlooTransport::look(int peer) {
  plugin::LinkState state;
  if (!link(peer).is_connected.load(std::memory_order_acquire)) return std::nullopt;
  if (!table_.look(context_.get(), peer, &state)) return std::nullopt;
  return LinkState{.acknowledged = state.acknowledged,
                   .arrived = state.arrived,
                   .in_flight = state.in_flight,
                   .unanswered = state.unanswered};
}

int GlooTransport::connections() const {
  return static_cast<int>(std::ranges::count_if(
      links_, [](const Link& to) { return to.is_connected.load(std::memory_order_relaxed); }));
}

void GlooTransport::wake() {
  {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }
  table_.wake(context_.get());
}

void GlooTransport::connect_all() {
  for (int peer = 0; peer < options_.size; ++peer) {
    if (peer != options_.rank) want(peer);
  }
  const Deadline deadline(options_.timeout);
  std::vector<int> missing;
  for (int peer = 0; peer < options_.size; ++peer) {
    if (peer != options_.rank && !wait_for(peer, deadline)) missing.push_back(peer);
  }
  if (missing.empty()) return;
  throw Error(ErrorCode::timeout,
              concat("rank ", options_.rank, " waited ", options_.timeout.count(), " ms for ",
                     ranks_text(missing), " to connect at ", address_, kHint));
}

bool GlooTransport::wait_for(int peer, const Deadline& deadline) {
  const Link& to = link(peer);
  while (!deadline.passed() && !store_.job_failure()) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, std::min(deadline.at(), Deadline(kLookAtJob).at()),
                        [&] { return to.is_connected.load() || to.failure; });
    if (to.is_connected) return true;
    if (!to.failure) continue;
    throw Error(to.failure->code(), concat("rank ", options_.rank, " lost rank ", peer,
                                           " while it connected to all: ", to.failure->what()));
  }
  return false;
}

void GlooTransport::run_native(const plugin::NativeCall& call) {
  plugin::Failure failure;
  if (!table_.run_native(context_.get(), &call, &failure)) raise(failure);
}

}  // namespace bp
