#include "search/report/html.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace opsmith::search {

std::string escape(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string format(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

namespace {

std::string bar(double x, double y, double width, double height, const char* kind) {
  return "<rect class=\"" + std::string(kind) + "\" x=\"" + format("%.1f", x) + "\" y=\"" +
         format("%.1f", y) + "\" width=\"" + format("%.1f", std::max(width, 1.0)) + "\" height=\"" +
         format("%.1f", height) + "\" rx=\"2\"/>";
}

std::string text(double x, double y, const std::string& content, const char* anchor = "start",
                 const char* kind = "label") {
  return "<text class=\"" + std::string(kind) + "\" x=\"" + format("%.1f", x) + "\" y=\"" +
         format("%.1f", y) + "\" text-anchor=\"" + anchor + "\">" + escape(content) + "</text>";
}

/// Long node names lose their middle, but no part of a UTF-8 character.
std::string shortened(const std::string& name, size_t limit = 40) {
  if (name.size() <= limit) return name;
  const auto inside = [&](size_t at) { return (static_cast<uint8_t>(name[at]) & 0xc0) == 0x80; };
  size_t end = (limit - 1) / 2, begin = name.size() - end;
  while (end > 0 && inside(end)) --end;
  while (begin < name.size() && inside(begin)) ++begin;
  return name.substr(0, end) + "…" + name.substr(begin);
}

}  // namespace

std::string bar_chart(const std::vector<BarPair>& rows, const std::string& unit,
                      const char* pattern) {
  constexpr double kLabels = 300, kBars = 430, kRow = 34, kBar = 11;
  double largest = 1e-12;
  for (const BarPair& row : rows) largest = std::max({largest, row.before, row.after});
  const double height = kRow * static_cast<double>(rows.size()) + 6;
  std::string svg = "<svg viewBox=\"0 0 840 " + format("%.0f", height) +
                    "\" role=\"img\" aria-label=\"before and after\">";
  double y = 4;
  for (const BarPair& row : rows) {
    const double before = kBars * row.before / largest, after = kBars * row.after / largest;
    svg += text(kLabels - 10, y + 16, shortened(row.label), "end");
    svg +=
        bar(kLabels, y, before, kBar, "before") + bar(kLabels, y + kBar + 2, after, kBar, "after");
    svg += text(kLabels + before + 6, y + 10, format(pattern, row.before) + unit, "start", "value");
    svg += text(kLabels + after + 6, y + 23, format(pattern, row.after) + unit, "start", "value");
    y += kRow;
  }
  return svg + "</svg>";
}

std::string scatter_plot(const std::vector<ScatterPoint>& points, const std::string& x_label,
                         const std::string& y_label) {
  constexpr double kLeft = 80, kTop = 20, kWidth = 560, kHeight = 220;
  double x_high = 0, y_low = points.front().y, y_high = points.front().y;
  for (const ScatterPoint& point : points) {
    x_high = std::max(x_high, point.x);
    y_low = std::min(y_low, point.y);
    y_high = std::max(y_high, point.y);
  }
  x_high *= 1.25;
  const double margin = std::max(0.4 * (y_high - y_low), 0.25);
  y_low -= margin;
  y_high += margin;
  const auto px = [&](double x) { return kLeft + kWidth * x / std::max(x_high, 1e-12); };
  const auto py = [&](double y) { return kTop + kHeight * (y_high - y) / (y_high - y_low); };
  std::string svg = "<svg viewBox=\"0 0 720 290\" role=\"img\" aria-label=\"" + escape(y_label) +
                    " against " + escape(x_label) + "\">";
  for (int i = 0; i <= 4; ++i) {
    const double y = y_low + (y_high - y_low) * i / 4, x = x_high * i / 4;
    const std::string level = format("%.1f", py(y)), at = format("%.1f", px(x));
    svg += "<line class=\"grid\" x1=\"80\" x2=\"640\" y1=\"" + level + "\" y2=\"" + level + "\"/>";
    svg += text(kLeft - 8, py(y) + 4, format("%.2f", y), "end", "value");
    svg += text(px(x), kTop + kHeight + 18, format("%.3g", x), "middle", "value");
  }
  svg += text(kLeft + kWidth / 2, kTop + kHeight + 42, x_label, "middle");
  svg += text(kLeft, kTop - 6, y_label, "start");
  for (const ScatterPoint& point : points) {
    svg += "<circle class=\"" + std::string(point.highlighted ? "after" : "before") + "\" cx=\"" +
           format("%.1f", px(point.x)) + "\" cy=\"" + format("%.1f", py(point.y)) + "\" r=\"7\"/>";
    svg += text(px(point.x) + 12, py(point.y) + 4, point.label);
  }
  return svg + "</svg>";
}

const std::string& style_sheet() {
  static const std::string sheet = R"(
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --page: #f6f7f9; --card: #fff;
  --line: #dfe3e9; --before: #a9b4c2; --after: #1f7a6d; --warn: #b4452c; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --soft: #9aa5b4; --page: #14181e;
  --card: #1c2229; --line: #2e3641; --before: #5b6675; --after: #3fb8a4; --warn: #e5836b; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 1040px; margin: 0 auto; padding: 32px 20px 64px; }
h1 { font-size: 26px; margin: 0 0 4px; } h2 { font-size: 18px; margin: 36px 0 12px; }
p { margin: 6px 0; } .soft { color: var(--soft); } .warn { color: var(--warn); font-weight: 600; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(190px, 1fr)); gap: 12px;
  margin-top: 20px; }
.card, .panel { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 14px 16px; }
.card .what { color: var(--soft); font-size: 13px; } .card .now { font-size: 24px;
  font-weight: 650; font-variant-numeric: tabular-nums; } .card .then { color: var(--soft); }
.panel { overflow-x: auto; } svg { width: 100%; min-width: 560px; height: auto; display: block; }
svg text { font-size: 12px; fill: var(--ink); } svg text.value { fill: var(--soft);
  font-size: 11px; } svg .before { fill: var(--before); } svg .after { fill: var(--after); }
svg .grid { stroke: var(--line); }
.key span { display: inline-block; width: 11px; height: 11px; border-radius: 3px;
  margin: 0 6px 0 14px; } .key .b { background: var(--before); } .key .a { background: var(--after); }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; }
th, td { text-align: left; padding: 7px 10px; border-bottom: 1px solid var(--line);
  vertical-align: top; } th { color: var(--soft); font-weight: 600; white-space: nowrap; }
td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
code, pre { font: 12.5px/1.5 ui-monospace, SFMono-Regular, Menlo, monospace; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 14px;
  overflow-x: auto; white-space: pre-wrap; }
)";
  return sheet;
}

}  // namespace opsmith::search
