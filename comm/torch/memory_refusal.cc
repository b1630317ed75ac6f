#include "comm/torch/memory_refusal.h"

#include <new>
#include <string_view>

#include "bp/error.h"

namespace bp {

bool is_of_another_rank(const std::exception& error) {
  const auto* const known = dynamic_cast<const Error*>(&error);
  return known != nullptr &&
         (known->code() == ErrorCode::peer_lost || known->code() == ErrorCode::aborted);
}

bool means_out_of_memory(const std::exception& error) {
  if (is_of_another_rank(error)) return false;  // its text quotes the other rank's
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return true;
  const std::string_view text = error.what();
  return text.find("can't allocate memory") != std::string_view::npos ||
         text.find("not enough memory") != std::string_view::npos ||
         text.find("out of memory") != std::string_view::npos;
}

bool may_mean_out_of_memory(const std::exception& error) {
  const std::string_view text = error.what();  // oneDNN's
  return means_out_of_memory(error) || text == "could not create a primitive" ||
         text == "could not execute a primitive";
}

}  // namespace bp
