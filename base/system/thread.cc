#include "base/system/thread.h"

#include <pthread.h>

#include <system_error>
#include <utility>

#include "base/system/process_limit.h"
#include "base/system/signals_blocked.h"
#include "base/text.h"
#include "bp/error.h"

namespace bp {

std::thread start_thread(const std::string& name, std::function<void()> body) {
  const SignalsBlocked blocked;  // the new thread inherits this
  try {
    return std::thread([name = name.substr(0, 15), body = std::move(body)] {
      ::pthread_setname_np(::pthread_self(), name.c_str());
      body();
    });
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::io, concat("the thread ", name, " cannot be started: ",
                                      error.code().message(), kProcessLimits));
  }
}

}  // namespace bp
