#pragma once

#include <string>
#include <vector>

namespace opsmith::search {

/// Text with the characters that HTML takes for its own replaced.
std::string escape(const std::string& text);
std::string format(const char* pattern, double value);

/// One row of a bar chart: what it is, and two values to compare.
struct BarPair {
  std::string label;
  double before = 0;
  double after = 0;
};

/// Horizontal bars, two for each row, as inline SVG. `unit` follows the numbers.
std::string bar_chart(const std::vector<BarPair>& rows, const std::string& unit,
                      const char* pattern);

/// A point of a scatter plot.
struct ScatterPoint {
  std::string label;
  double x = 0;
  double y = 0;
  bool highlighted = false;
};

/// Two points or more over labelled axes, as inline SVG.
std::string scatter_plot(const std::vector<ScatterPoint>& points, const std::string& x_label,
                         const std::string& y_label);

/// The page's style sheet, for light and dark screens.
const std::string& style_sheet();

}  // namespace opsmith::search
