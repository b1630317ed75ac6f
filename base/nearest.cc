#include "base/nearest.h"

#include <algorithm>
#include <array>
#include <utility>

namespace bp {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Optimal string alignment distance.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (same ? 0U : 1U)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1])) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

bool begins_with(std::string_view name, std::string_view begin) {
  return name.size() >= begin.size() &&
         std::equal(begin.begin(), begin.end(), name.begin(),
                    [](char a, char b) { return lower(a) == lower(b); });
}

bool same_word(std::string_view a, std::string_view b) {
  return a.size() == b.size() && begins_with(a, b);
}

// Words of other programs and their names here, which no number of edits would find.
constexpr std::array kSynonyms{
    std::pair<std::string_view, std::string_view>{"gpu", "cuda"},
    std::pair<std::string_view, std::string_view>{"nvidia", "cuda"},
    std::pair<std::string_view, std::string_view>{"float", "fp32"},
    std::pair<std::string_view, std::string_view>{"float32", "fp32"},
    std::pair<std::string_view, std::string_view>{"single", "fp32"},
    std::pair<std::string_view, std::string_view>{"half", "fp16"},
    std::pair<std::string_view, std::string_view>{"float16", "fp16"},
    std::pair<std::string_view, std::string_view>{"bfloat16", "bf16"},
    std::pair<std::string_view, std::string_view>{"classification", "classify"},
    std::pair<std::string_view, std::string_view>{"regression", "regress"},
    std::pair<std::string_view, std::string_view>{"ner", "tokens"},
    std::pair<std::string_view, std::string_view>{"mlm", "pretrain"},
    std::pair<std::string_view, std::string_view>{"pretraining", "pretrain"},
    std::pair<std::string_view, std::string_view>{"validation", "dev"},
    std::pair<std::string_view, std::string_view>{"valid", "dev"},
    std::pair<std::string_view, std::string_view>{"val", "dev"},
};

// Returns the shortest name that begins with `wanted`, the first of several, or "".
std::string name_that_begins(std::string_view wanted, const std::vector<std::string>& names) {
  constexpr std::size_t kShortest = 3;  // fewer characters begin too many names
  std::string best;
  for (const std::string& name : names) {
    const bool begins = wanted.size() >= kShortest && begins_with(name, wanted);
    if (begins && (best.empty() || name.size() < best.size())) best = name;
  }
  return best;
}

}  // namespace

std::string nearest_name(std::string_view wanted, const std::vector<std::string>& names) {
  constexpr std::size_t kLongest = 100;  // the work grows with the square
  if (wanted.size() > kLongest) {
    return {};
  }
  for (const auto& [word, meant] : kSynonyms) {
    for (const std::string& name : names) {
      if (same_word(wanted, word) && name == meant) return name;
    }
  }
  if (std::string name = name_that_begins(wanted, names); !name.empty()) return name;
  std::string best;
  std::size_t fewest = std::max<std::size_t>(1, wanted.size() / 3) + 1;
  for (const std::string& name : names) {
    const std::size_t count = name.size() > kLongest ? fewest : edits(wanted, name);
    if (count < fewest) {
      fewest = count;
      best = name;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view wanted,
                         const std::vector<std::string>& names,
                         std::string otherwise) {
  const std::string nearest = nearest_name(wanted, names);
  return nearest.empty() ? otherwise : "did you mean '" + nearest + "'?";
}

}  // namespace bp
