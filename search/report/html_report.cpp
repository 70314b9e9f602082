#include <algorithm>

#include "search/report/html.h"
#include "search/report/report.h"

namespace opsmith::search {

namespace {

std::string card(const std::string& what, const std::string& now, const std::string& then) {
  return "<div class=\"card\"><div class=\"what\">" + escape(what) + "</div><div class=\"now\">" +
         escape(now) + "</div><div class=\"then\">" + escape(then) + "</div></div>";
}

std::string share(double after, double before) {
  return before > 0 ? format(" (%.1f %%)", 100 * after / before) : "";
}

std::string cards(const OptimizeResult& result) {
  const ModelMeasure &before = result.original, &after = result.optimized;
  std::string html = "<div class=\"cards\">";
  if (before.accuracy && after.accuracy) {
    html += card("Top-1 accuracy", format("%.2f %%", *after.accuracy),
                 format("was %.2f %%", *before.accuracy) +
                     format(", %+.2f points", *after.accuracy - *before.accuracy));
  }
  html += card("Multiply-accumulates", format("%.2f M", static_cast<double>(after.macs) / 1e6),
               format("was %.2f M", static_cast<double>(before.macs) / 1e6) +
                   share(static_cast<double>(after.macs), static_cast<double>(before.macs)));
  html += card(
      "Parameters", format("%.1f k", static_cast<double>(after.parameters) / 1e3),
      format("was %.1f k", static_cast<double>(before.parameters) / 1e3) +
          share(static_cast<double>(after.parameters), static_cast<double>(before.parameters)));
  for (const auto& [threads, milliseconds] : after.latency_ms) {
    const auto was = before.latency_ms.find(threads);
    if (was == before.latency_ms.end()) continue;
    html += card("Latency, " + std::to_string(threads) + (threads == 1 ? " thread" : " threads"),
                 format("%.3f ms", milliseconds),
                 format("was %.3f ms", was->second) +
                     format(", %.2f times as fast", was->second / milliseconds));
  }
  html += card("Same answer as the original", format("%.2f %%", 100 * result.agreement),
               format("outputs differ by %.4f (relative L2)", result.divergence));
  return html + "</div>";
}

std::string accuracy_plot(const OptimizeResult& result) {
  if (!result.original.accuracy || !result.optimized.accuracy ||
      result.original.latency_ms.empty() || result.optimized.latency_ms.empty()) {
    return "";
  }
  const auto& [threads, before] = *result.original.latency_ms.begin();
  const auto after = result.optimized.latency_ms.find(threads);
  if (after == result.optimized.latency_ms.end()) return "";
  return "<h2>Accuracy against latency</h2><div class=\"panel\">" +
         scatter_plot({{"original", before, *result.original.accuracy, false},
                       {"optimized", after->second, *result.optimized.accuracy, true}},
                      "milliseconds for one sample, " + std::to_string(threads) +
                          (threads == 1 ? " thread" : " threads"),
                      "top-1 accuracy in percent") +
         "</div>";
}

std::string key() {
  return "<p class=\"key soft\"><span class=\"b\"></span>before<span class=\"a\"></span>after</p>";
}

std::string layer_table(const OptimizeResult& result) {
  std::string html =
      "<div class=\"panel\"><table><thead><tr><th>Layer</th><th>Became</th><th>MACs</th>"
      "<th>Parameters</th><th>ms alone</th><th>Fit error</th><th>Predicted loss</th></tr></thead>"
      "<tbody>";
  for (const LayerChoice& layer : result.layers) {
    const bool replaced = !layer.operator_name.empty();
    html += "<tr><td><code>" + escape(layer.node) + "</code></td><td>";
    if (replaced) {
      html += "<b>" + escape(layer.operator_name) + "</b><br><span class=\"soft\">" +
              escape(layer.formula) + "</span>";
      if (!layer.reason.empty()) {
        html += "<br><span class=\"warn\">" + escape(layer.reason) + "</span>";
      }
    } else {
      html += "<span class=\"soft\">left as it is: " + escape(layer.reason) + "</span>";
    }
    const auto change = [&](double before, double after, const char* pattern) {
      html += "<td class=\"n\">" + format(pattern, before);
      if (replaced) html += " → " + format(pattern, after);
      html += "</td>";
    };
    html += "</td>";
    change(static_cast<double>(layer.macs_before) / 1e6,
           static_cast<double>(layer.macs_after) / 1e6, "%.2f M");
    change(static_cast<double>(layer.parameters_before) / 1e3,
           static_cast<double>(layer.parameters_after) / 1e3, "%.1f k");
    if (layer.milliseconds_before > 0) {
      change(layer.milliseconds_before, layer.milliseconds_after, "%.3f");
    } else {
      html += "<td></td>";
    }
    html += "<td class=\"n\">" + (replaced ? format("%.4f", layer.fit_error) : "") + "</td>";
    html +=
        "<td class=\"n\">" + (replaced ? format("%.4f", layer.predicted_loss) : "") + "</td></tr>";
  }
  return html + "</tbody></table></div>";
}

}  // namespace

std::string html_report(const graph::Model& model, const OptimizeData& data,
                        const OptimizeOptions& options, const OptimizeResult& result) {
  std::vector<BarPair> macs, times;
  for (const LayerChoice& layer : result.layers) {
    macs.push_back({layer.node, static_cast<double>(layer.macs_before) / 1e6,
                    static_cast<double>(layer.macs_after) / 1e6});
    if (layer.milliseconds_before > 0) {
      times.push_back(
          {layer.node, 1000 * layer.milliseconds_before, 1000 * layer.milliseconds_after});
    }
  }
  const std::string title = model.source.substr(model.source.find_last_of('/') + 1);
  std::string html =
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"><title>opsmith: " +
      escape(title) + "</title><style>" + style_sheet() + "</style></head><body><main>";
  html += "<h1>" + escape(title) + "</h1><p class=\"soft\">optimized by opsmith in " +
          format("%.1f s", result.seconds) + "; times are those of this machine</p>";
  if (!result.gate_met) html += "<p class=\"warn\">" + escape(result.gate_message) + "</p>";
  html += cards(result) + accuracy_plot(result);
  html += "<h2>Multiply-accumulates by layer</h2>" + key() + "<div class=\"panel\">" +
          bar_chart(macs, " M", "%.2f") + "</div>";
  if (!times.empty()) {
    html += "<h2>Time by layer, each alone, " + std::to_string(options.threads) +
            (options.threads == 1 ? " thread" : " threads") + "</h2>" + key() +
            "<div class=\"panel\">" + bar_chart(times, " µs", "%.1f") + "</div>";
  }
  html += "<h2>What each layer became</h2>" + layer_table(result);
  html +=
      "<p class=\"soft\">Fit error: relative L2 distance of the layer's output from the "
      "original's, on calibration inputs. Predicted loss: relative L2 change of the model's "
      "outputs when this layer alone is replaced.</p>";
  html +=
      "<h2>Predicted and measured</h2><div class=\"panel\"><p>Predicted from the layers one "
      "by one: " +
      format("%.4f", result.predicted_divergence) +
      ". Measured on held-out calibration inputs "
      "after refitting in order: " +
      format("%.4f", result.held_out_divergence) + ". Measured on the " +
      (data.evaluation.empty() ? std::string("held-out calibration") : "evaluation") +
      " inputs: " + format("%.4f", result.divergence) + " (relative L2 of the outputs).</p></div>";
  html +=
      "<h2>How to repeat this</h2><pre>" + escape(command_line(model, data, options)) + "</pre>";
  return html + "</main></body></html>\n";
}

}  // namespace opsmith::search
