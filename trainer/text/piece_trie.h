// Finds all pieces of a vocabulary with which a text begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace bp::trainer {

class PieceTrie {
 public:
  // The id of a piece is its index. None is empty, and no two are equal.
  explicit PieceTrie(const std::vector<std::string>& pieces_by_id);

  // Calls `take(length, id)` for each piece with which `text` begins, the shortest first.
  template <class Take>
  void find(std::string_view text, const Take& take) const {
    std::size_t node = 0;
    for (std::size_t length = 0; length < text.size();) {
      const Node& parent = nodes_[node];
      const char* const labels = labels_.data() + parent.first_child;
      const void* const found =
          std::memchr(labels, static_cast<unsigned char>(text[length]), parent.children);
      if (found == nullptr) return;
      node =
          parent.first_child + static_cast<std::size_t>(static_cast<const char*>(found) - labels);
      ++length;
      if (nodes_[node].id >= 0) take(length, nodes_[node].id);
    }
  }

 private:
  struct Node {
    std::uint32_t first_child = 0;  // its children follow one another
    std::uint32_t children = 0;
    std::int32_t id = -1;  // of the piece that ends here
  };

  std::vector<Node> nodes_ = std::vector<Node>(1);
  std::vector<char> labels_ = std::vector<char>(1);  // of each node: the byte that leads to it
};

}  // namespace bp::trainer
