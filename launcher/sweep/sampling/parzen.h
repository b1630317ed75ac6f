// A density of parameters made of past trials: a mixture of one kernel per trial and a wide one.
#pragma once

#include <cstddef>
#include <vector>

#include "launcher/sweep/sampling/random.h"

namespace bp::launcher::sweep {

// Where the coordinates of one dimension lie.
struct Axis {
  enum class Kind : unsigned char {
    real,      // low .. high
    whole,     // 0, 1, ... size - 1, which are near each other if their numbers are
    category,  // the same numbers, but none is nearer than another
  };
  Kind kind = Kind::real;
  double low = 0;
  double high = 1;
  std::size_t size = 0;
};

using Point = std::vector<double>;  // one coordinate per axis

// The kernel of a trial is a product over the axes: a normal distribution that is cut off at the
// ends of a real axis, the same in steps for a whole one, and for a category the trial's own with
// an even share for all. The wide kernel covers all axes evenly.
class ParzenMixture {
 public:
  // `points` from the oldest to the newest. If there are many, the oldest weigh less.
  ParzenMixture(const std::vector<Axis>& axes, std::vector<Point> points);

  [[nodiscard]] Point draw(Random& random) const;
  [[nodiscard]] double log_density(const Point& point) const;

 private:
  struct Normal {
    double mean = 0;
    double deviation = 1;
    double inside = 1;  // its share between the ends of the axis
    [[nodiscard]] double scaled(double x) const;
  };
  [[nodiscard]] bool is_wide(std::size_t component) const { return component == points_.size(); }
  [[nodiscard]] double draw_coordinate(std::size_t component,
                                       std::size_t axis,
                                       Random& random) const;
  [[nodiscard]] double log_kernel(std::size_t component, std::size_t axis, double x) const;

  const std::vector<Axis>& axes_;
  std::vector<Point> points_;
  std::vector<double> weights_;  // of the points and, as the last, of the wide kernel; sum 1
  std::vector<std::vector<Normal>> normals_;  // by axis and component; unused for categories
};

}  // namespace bp::launcher::sweep
