#include "trainer/train/share_text.h"

#include <cstdint>
#include <span>

#include "bp/collective.h"

namespace bp::trainer {

void share_text(Communicator& world, std::string& text, std::string_view name) {
  auto size = static_cast<std::int64_t>(text.size());
  broadcast(world, view(std::span(&size, 1)), {.name = name});
  text.resize(static_cast<std::size_t>(size));
  broadcast(world, view(std::span(reinterpret_cast<std::uint8_t*>(text.data()), text.size())),
            {.name = name});
}

}  // namespace bp::trainer
