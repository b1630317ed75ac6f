// The table of C functions. Each calls C++ code and converts what that throws to a Failure.
#include <gloo/common/error.h>

#include <chrono>
#include <exception>
#include <string_view>

#include "comm/transport/gloo_plugin/context.h"
#include "comm/transport/gloo_plugin/error_text.h"

namespace bp::gloo_plugin {
namespace {

void set(Failure* failure, Failure::Kind kind, const char* what) {
  if (failure == nullptr) return;
  const std::string text = readable(what);
  failure->kind = kind;
  failure->text[text.copy(failure->text, sizeof(failure->text) - 1)] = '\0';
}

// Returns what `action` returns. If it throws, sets `failure` and returns `otherwise`.
template <class Action, class Result>
Result guarded(Failure* failure, Result otherwise, const Action& action) noexcept {
  try {
    return action();
  } catch (const gloo::IoException& error) {
    const bool timed_out =
        std::string_view(error.what()).find("Timed out") != std::string_view::npos;
    set(failure, timed_out ? Failure::timeout : Failure::lost, error.what());
  } catch (const std::exception& error) {
    set(failure, Failure::io, error.what());
  } catch (...) {
    set(failure, Failure::io, "an unknown exception");
  }
  return otherwise;
}

void* connect(const ConnectOptions* options, Failure* failure) {
  return guarded(failure, static_cast<void*>(nullptr), [&]() -> void* {
    const SignalsBlocked blocked;  // for Gloo's thread and the alarm thread, which start here
    return new Context(*options);
  });
}
void disconnect(void* context) { delete static_cast<Context*>(context); }

bool adopt(void* context, std::int32_t peer, int connection, Failure* failure) {
  return guarded(failure, false, [&] {
    static_cast<Context*>(context)->gloo()->adopt(peer, connection);
    return true;
  });
}

void* post(void* context, const Posting* posting, Failure* failure) {
  return guarded(failure, static_cast<void*>(nullptr), [&]() -> void* {
    return new Transfer(*static_cast<Context*>(context), *posting);
  });
}
void release(void* transfer) { delete static_cast<Transfer*>(transfer); }

std::int32_t wait(void* transfer,
                  std::int64_t deadline_ns,
                  const std::atomic<bool>* stop,
                  Failure* failure) {
  return guarded(failure, std::int32_t{-1}, [&] {
    return static_cast<Transfer*>(transfer)->wait(deadline_ns, *stop) ? std::int32_t{1}
                                                                      : std::int32_t{0};
  });
}

void wake(void* context) { static_cast<Context*>(context)->waits().wake(); }

bool run_native_guarded(void* context, const NativeCall* call, Failure* failure) {
  return guarded(failure, false, [&] {
    run_native(*static_cast<Context*>(context), *call);
    return true;
  });
}

std::int32_t deliver(void* context,
                     std::int64_t deadline_ns,
                     const std::atomic<bool>* stop,
                     Undelivered* left,
                     Failure* failure) {
  return guarded(failure, std::int32_t{-1}, [&] {
    const Delivery::Clock::time_point deadline{std::chrono::nanoseconds(deadline_ns)};
    Delivery& delivery = static_cast<Context*>(context)->delivery();
    if (delivery.wait(deadline, *stop)) return std::int32_t{1};
    *left = delivery.left();
    return std::int32_t{0};
  });
}

bool look(void* context, std::int32_t peer, LinkState* state) {
  return guarded(nullptr, false, [&] {
    auto& connections = static_cast<Context*>(context)->gloo()->buffers().transport();
    return look_at_connection(connections, peer, *state);
  });
}

constexpr Table kTable = {kVersion, connect, disconnect,         adopt,   post, release,
                          wait,     wake,    run_native_guarded, deliver, look};

}  // namespace
}  // namespace bp::gloo_plugin

extern "C" __attribute__((visibility("default"))) const bp::gloo_plugin::Table* bp_gloo_plugin() {
  return &bp::gloo_plugin::kTable;
}
