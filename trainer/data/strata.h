// The classes of the rows that a stratified split divides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bp::trainer {

class Strata {
 public:
  // Takes the class of the next row.
  void add(std::string_view name) {
    const auto found = numbers_.find(name);
    const auto next = static_cast<std::int32_t>(numbers_.size());
    of_rows_.push_back(found != numbers_.end() ? found->second
                                               : numbers_.emplace(name, next).first->second);
  }
  // Leaves out the rows for which `keeps` returns false; they count from 1.
  void keep_if(const std::function<bool(std::int64_t row)>& keeps) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < of_rows_.size(); ++i) {
      if (keeps(static_cast<std::int64_t>(i) + 1)) of_rows_[kept++] = of_rows_[i];
    }
    of_rows_.resize(kept);
  }

  [[nodiscard]] const std::vector<std::int32_t>& of_rows() const { return of_rows_; }
  [[nodiscard]] std::size_t count() const { return numbers_.size(); }

 private:
  std::map<std::string, std::int32_t, std::less<>> numbers_;
  std::vector<std::int32_t> of_rows_;
};

}  // namespace bp::trainer
