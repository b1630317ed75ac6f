#include "comm/transport/gloo_plugin/error_text.h"

#include <arpa/inet.h>

#include <charconv>
#include <cstdint>

namespace bp::gloo_plugin {

std::string readable(std::string_view text) {
  const std::size_t source = text.find("] ");
  if (text.starts_with('[') && source != text.npos) text.remove_prefix(source + 2);
  text = text.substr(0, text.find('\n'));
  std::string result;
  constexpr std::string_view kBeforePort = "]:";  // "[127.0.0.1]:21924"
  for (std::size_t at = 0; (at = text.find(kBeforePort)) != text.npos;) {
    at += kBeforePort.size();
    result += text.substr(0, at);
    text.remove_prefix(at);
    std::uint16_t port = 0;
    const auto number = std::from_chars(text.data(), text.data() + text.size(), port);
    if (number.ec != std::errc{}) continue;
    result += std::to_string(ntohs(port));
    text.remove_prefix(static_cast<std::size_t>(number.ptr - text.data()));
  }
  return result.append(text);
}

}  // namespace bp::gloo_plugin
