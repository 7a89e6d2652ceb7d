// The timeline of a forecast's report: a canvas, its data and the script that draws it.
#include "sim/tool/time_report.hpp"

#include "common/html.hpp"

#include <fmt/format.h>

#include <map>

namespace rapt::sim::tool {
namespace {

// Row by row: the clocks for which each instruction kept its wave, in its class's colour. Before them stand the clocks
// for which the wave was stalled, in the cause's colour, pale.
constexpr const char* script = R"js(
function timeline(id, data) {
  const canvas = document.getElementById(id), tip = document.getElementById(id + "-tip");
  const left = 110, row = 16, bar = 12, top = 22;
  const waves = data.waves.map(([simd, issues], number) => {
    const wave = {simd, number, at: [], what: [], stalled: [], cause: []};
    for (let n = 0, clock = 0; n < issues.length; n += 4) {
      wave.what.push(issues[n]);
      wave.at.push(clock += issues[n + 1]);
      wave.stalled.push(issues[n + 2]);
      wave.cause.push(issues[n + 3]);
    }
    return wave;
  }).sort((a, b) => a.simd - b.simd || a.number - b.number);
  const end = 8 + Math.max(...waves.map(w => w.at[w.at.length - 1]));
  const barrierCause = data.causes.findIndex(([name]) => name === "barrier");
  const causeStyles = data.causes.map(([, colour]) => [colour, 0.3]);
  const classStyles = data.classes.map(([, colour]) => [colour, 1]);
  let from = 0, to = end, dragged = null;
  const clockAt = x => from + (x - left) / (canvas.width - left) * (to - from);
  // The first instruction that is not over at the clock.
  const search = (wave, clock) => {
    let low = 0, high = wave.at.length;
    while (low < high) {
      const middle = low + high >> 1;
      if (wave.at[middle] < clock) low = middle + 1; else high = middle;
    }
    return Math.max(0, low - 1);
  };
  const free = (wave, n) => n + 1 < wave.at.length ? wave.at[n + 1] - wave.stalled[n + 1] : wave.at[n] + 4;
  function draw() {
    canvas.width = canvas.clientWidth;
    canvas.height = top + row * waves.length;
    const pen = canvas.getContext("2d"), scale = (canvas.width - left) / (to - from);
    const x = clock => left + (clock - from) * scale;
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = "#1b1f24";
    const power = 10 ** Math.floor(Math.log10((to - from) / 12));
    const step = [1, 2, 5, 10].map(n => n * power).find(n => n >= (to - from) / 12);
    for (let clock = Math.ceil(from / step) * step; clock <= to; clock += step)
      pen.fillText(clock, x(clock), 12);
    waves.forEach((wave, line) => {
      const y = top + line * row;
      let drawn = left, sums = new Map();
      // The parts of what was added since the last pixel that was drawn, as shares of its height.
      const flush = until => {
        const all = [...sums.values()].reduce((sum, clocks) => sum + clocks, 0);
        let part = y;
        for (const [[colour, alpha], clocks] of all ? sums : []) {
          pen.globalAlpha = alpha;
          pen.fillStyle = colour;
          pen.fillRect(drawn, part, until - drawn, clocks / all * bar);
          part += clocks / all * bar;
        }
        drawn = until;
        sums = new Map();
      };
      const add = (begin, finish, style) => {
        const first = Math.max(begin, from), last = Math.min(finish, to);
        if (last <= first) return;
        if (last - first > 1 / scale && x(first) > drawn) flush(x(first));
        sums.set(style, (sums.get(style) || 0) + last - first);
        if (x(last) - drawn >= 1) flush(x(last));
      };
      for (let n = search(wave, from); n < wave.at.length && wave.at[n] - wave.stalled[n] < to; ++n) {
        add(wave.at[n] - wave.stalled[n], wave.at[n], causeStyles[wave.cause[n]]);
        const [, , kind, , barrier] = data.instructions[wave.what[n]];
        const done = barrier ? Math.min(wave.at[n] + 4, free(wave, n)) : free(wave, n);
        add(wave.at[n], done, classStyles[kind]);
        add(done, free(wave, n), causeStyles[barrierCause]);
      }
      pen.globalAlpha = 1;
      pen.clearRect(0, y, left, row);
      pen.fillStyle = "#1b1f24";
      pen.fillText("SIMD " + wave.simd + ", wave " + wave.number, 2, y + 10);
    });
  }
  function show(event) {
    const wave = waves[Math.floor((event.offsetY - top) / row)], clock = clockAt(event.offsetX);
    if (!wave || event.offsetX < left) { tip.textContent = "\u00a0"; return; }
    let n = search(wave, clock);
    if (n + 1 < wave.at.length && clock >= free(wave, n)) ++n;
    const [offset, text, kind, source] = data.instructions[wave.what[n]];
    tip.textContent = "clock " + wave.at[n] + ": " + offset + "  " + text + (source === "-" ? "" : "  (" + source + ")") +
      ", " + data.classes[kind][0] + (wave.stalled[n] ? "; before it " + wave.stalled[n] + " clocks: " +
      data.causes[wave.cause[n]][0] : "");
  }
  function move(first, last) {
    const width = Math.min(Math.max(last - first, 16), end);
    from = Math.min(Math.max(first, 0), end - width);
    to = from + width;
    draw();
  }
  canvas.onwheel = event => {
    event.preventDefault();
    const clock = clockAt(Math.max(event.offsetX, left)), factor = event.deltaY < 0 ? 0.8 : 1.25;
    move(clock - (clock - from) * factor, clock + (to - clock) * factor);
  };
  canvas.onmousedown = event => { dragged = {x: event.offsetX, from, to}; };
  canvas.onmousemove = event => {
    show(event);
    if (!dragged || !(event.buttons & 1)) return;
    const by = (dragged.x - event.offsetX) / (canvas.width - left) * (to - from);
    move(dragged.from + by, dragged.to + by);
  };
  canvas.ondblclick = () => move(0, end);
  window.addEventListener("resize", draw);
  draw();
}
)js";

// In a script element a "<" could end it.
std::string script_json(const Json& data) {
  std::string text;
  for (const char c : data.dump(-1, ' ', false, Json::error_handler_t::replace))
    text += c == '<' ? "\\u003c" : std::string(1, c);
  return text;
}

// Names in the order in which they are numbered, with a colour each.
class Palette {
 public:
  std::size_t number(const std::string& name) {
    const auto [found, added] = numbers_.try_emplace(name, numbers_.size());
    if (added) names_.push_back(name);
    return found->second;
  }
  const std::vector<std::string>& names() const { return names_; }
  Json json() const {
    Json list = Json::array();
    for (std::size_t n = 0; n < names_.size(); ++n) list.push_back({names_[n], common::html::colour(n)});
    return list;
  }

 private:
  std::map<std::string, std::size_t> numbers_;
  std::vector<std::string> names_;
};

// Few enough to tell their colours apart.
std::string group_of(const std::string& name) {
  if (name == "matrix" || name == "vector" || name == "LDS" || name == "scalar" || name == "transcendental")
    return name;
  for (const char* memory : {"global", "flat", "buffer", "scratch", "scalar memory"})
    if (name.starts_with(memory)) return "memory";
  return "control";
}

}  // namespace

std::string timeline_html(const Json& kernel, std::size_t number) {
  Palette classes, causes;
  Json data;
  for (const char* name : {"matrix", "LDS", "vector", "memory", "transcendental", "scalar", "control"})
    classes.number(name);
  for (const auto& [name, clocks] : kernel["time"]["causes"].items())
    if (name != "executing") causes.number(name);
  Json& instructions = data["instructions"] = Json::array();
  for (const Json& i : kernel["instructions"])
    instructions.push_back({address_text(i["offset"].get<std::int64_t>()), i["text"],
                            classes.number(group_of(i["class"].get<std::string>())), source_text(i["source"]),
                            i["class"] == "barrier"});
  Json& waves = data["waves"] = Json::array();
  for (const Json& wave : kernel["timeline"]["waves"]) waves.push_back({wave["simd"], wave["issues"]});
  data["classes"] = classes.json();
  data["causes"] = causes.json();
  const std::string id = fmt::format("timeline{}", number);
  return fmt::format(
      "<h3>The waves of one compute unit, by clocks{}</h3>\n"
      "<p class=\"note\">Wheel: zoom. Drag: move. Double click: all. Full colours: an instruction of that kind keeps "
      "its "
      "wave. Pale: the wave waits.</p>\n"
      "{}<p>waits:</p>{}<canvas id=\"{}\" style=\"width:100%\" role=\"img\" aria-label=\"timeline\"></canvas>\n"
      "<p id=\"{}-tip\">&#160;</p>\n<script>{}timeline(\"{}\", {});</script>\n",
      kernel["timeline"]["complete"].get<bool>() ? "" : " (its first instructions)",
      common::html::legend(classes.names()), common::html::legend(causes.names()), id, id, number == 0 ? script : "",
      id, script_json(data));
}

}  // namespace rapt::sim::tool
