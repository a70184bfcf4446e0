"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const find = (id) => document.getElementById(id);
const make = (name, attributes = {}, ...children) => {
  const node = document.createElement(name);
  Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
  node.append(...children);
  return node;
};
const draw = (name, attributes, ...children) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
  node.append(...children);
  return node;
};
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const share = (value) => (value > 0 && value < 0.001 ? "< 0.1\u00a0%"
  : value < 1 && value > 0.999 ? "> 99.9\u00a0%" : `${Number((100 * value).toPrecision(3))}\u00a0%`);
const DASHES = ["", "7 3", "3 3", "9 3 2 3", "5 5", "", "12 3", "4 2 1 2", "8 2 2 2 2 2"];
const SHAPES = ["circle", "square", "triangle", "diamond", "down", "cross", "plus"];
const state = { size: data.start[0], epsilon: data.start[1], mechanism: null };

function marker(shape, x, y, colour) {
  const paint = { fill: colour, stroke: colour, "stroke-width": 1.6 };
  const path = (d, more = {}) => draw("path", { d, ...paint, ...more });
  switch (shape) {
    case "square": return path(`M${x - 3} ${y - 3}h6v6h-6z`);
    case "triangle": return path(`M${x} ${y - 4}l4 7h-8z`);
    case "diamond": return path(`M${x} ${y - 4}l4 4l-4 4l-4-4z`);
    case "down": return path(`M${x} ${y + 4}l4-7h-8z`);
    case "cross": return path(`M${x - 3} ${y - 3}l6 6m0-6l-6 6`, { fill: "none" });
    case "plus": return path(`M${x - 4} ${y}h8m-4-4v8`, { fill: "none" });
    default: return draw("circle", { cx: x, cy: y, r: 2.8, ...paint });
  }
}

const looks = data.mechanisms.map((each, index) => ({
  ...each, dash: DASHES[index % DASHES.length], shape: SHAPES[index % SHAPES.length],
}));

function showLegend() {
  find("legend").replaceChildren(...looks.map((each) => {
    const swatch = draw("svg", { viewBox: "0 0 42 14", "aria-hidden": "true" },
      draw("line", { x1: 0, x2: 42, y1: 7, y2: 7, stroke: each.colour, "stroke-width": 2, "stroke-dasharray": each.dash }),
      marker(each.shape, 21, 7, each.colour));
    return make("li", {}, swatch, ` ${each.name}`);
  }));
}

const WIDTH = 380, HEIGHT = 260, LEFT = 46, RIGHT = 12, TOP = 10, BOTTOM = 34;
const ends = [Math.log(data.epsilons[0]), Math.log(data.epsilons.at(-1))];
const across = (epsilon) => LEFT + (WIDTH - LEFT - RIGHT) * (Math.log(epsilon) - ends[0]) / (ends[1] - ends[0]);

function showCurve(id, title, value, logarithmic) {
  const row = data.cells[state.size];
  const values = row.flatMap((cell) => looks.map((each) => value(cell.rows[each.name])));
  const top = logarithmic ? Math.log1p(Math.max(1, ...values)) : 1;
  const height = (number) => HEIGHT - BOTTOM
    - (HEIGHT - TOP - BOTTOM) * (logarithmic ? Math.log1p(number) : number) / top;
  const steps = logarithmic ? [0, 1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7].filter((step) => Math.log1p(step) <= top)
    : [0, 0.25, 0.5, 0.75, 1];
  const picture = draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
  const best = bestName();
  const here = row[state.epsilon].rows[best];
  picture.append(draw("title", {}, `${title}. At the ε of the slider, ${best} has ${logarithmic
    ? whole.format(value(here)) : share(value(here))}. The table below has all numbers.`));
  for (const step of steps) {
    picture.append(draw("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: height(step), y2: height(step) }));
    picture.append(draw("text", { x: LEFT - 9, y: height(step) + 4, "text-anchor": "end" },
      logarithmic ? whole.format(step) : String(step)));
  }
  for (const epsilon of data.epsilons.filter((each) => [0.1, 0.2, 0.5, 1, 2, 5, 10].includes(each))) {
    picture.append(draw("text", { x: across(epsilon), y: HEIGHT - BOTTOM + 15, "text-anchor": "middle" }, String(epsilon)));
  }
  picture.append(draw("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 4, "text-anchor": "middle" }, "ε"));
  picture.append(draw("line", { class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM }));
  for (const each of looks) {
    const points = row.map((cell, index) => [across(data.epsilons[index]), height(value(cell.rows[each.name]))]);
    const line = points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");
    const group = draw("g", { "data-mechanism": each.name });
    group.append(draw("polyline", { points: line, fill: "none", stroke: each.colour, "stroke-width": 2,
      "stroke-dasharray": each.dash, "stroke-linejoin": "round" }));
    points.forEach(([x, y]) => group.append(marker(each.shape, x, y, each.colour)));
    // The point of collapse: from it on, at least half of the list is right at every larger epsilon of the grid.
    const recalls = row.map((cell) => cell.rows[each.name].recall);
    const last = recalls.findLastIndex((recall) => recall < 0.5);
    if (last >= 0 && last + 1 < recalls.length) {
      const part = (0.5 - recalls[last]) / (recalls[last + 1] - recalls[last]);
      const between = (from, to) => from + part * (to - from);
      const epsilon = Math.exp(between(...data.epsilons.slice(last, last + 2).map(Math.log)));
      const [x, y] = [0, 1].map((axis) => between(points[last][axis], points[last + 1][axis]));
      group.append(draw("circle", { class: "collapse", cx: x, cy: y, r: 7, fill: "none", stroke: each.colour,
        "stroke-width": 2.5 }, draw("title", {}, `${each.name} collapses below ε = ${Number(epsilon.toPrecision(2))}`)));
    }
    picture.append(group);
  }
  const now = across(data.epsilons[state.epsilon]);
  picture.append(draw("line", { class: "now", x1: now, x2: now, y1: TOP, y2: HEIGHT - BOTTOM }));
  find(id).replaceChildren(picture);
}

const cell = () => data.cells[state.size][state.epsilon];
const bestName = () => Object.keys(cell().rows)[0];

function showAdvice() {
  const { choice, rule, changes, rows } = cell();
  const best = rows[bestName()];
  find("figure-name").textContent = bestName();
  find("figure-recall").textContent = best.right_items;
  find("figure-exact").textContent = best.cells.exact;
  find("figure-releases").textContent = best.cells.releases;
  find("choice").textContent = choice;
  find("rule").textContent = rule;
  find("helps").hidden = changes.length === 0;
  find("changes").replaceChildren(...changes.map((each) => make("li", {}, each)));
  showCommand("command", best.command);
  find("limit").hidden = data.limit === null;
  find("limit").textContent = data.limit ?? "";
}

function showCommand(place, command) {
  // Each option stays together with its value, so that no line ends with a part of a word.
  const words = command.split(/ (?=-)/).flatMap((each) => [" ", make("span", {}, each)]);
  find(place).replaceChildren(...words.slice(1));
}

function showWish() {
  const wish = data.wishes[state.size];
  find("wish").hidden = wish === undefined;
  if (wish === undefined) return;
  const met = wish.answers.map(([, epsilon]) => epsilon).filter((epsilon) => epsilon !== null);
  const least = Math.min(...met);
  find("wish-text").textContent = wish.text;
  find("wish-line").hidden = wish.command === null;
  showCommand("wish-command", wish.command ?? "");
  find("wish-answers").replaceChildren(...wish.answers.map(([name, epsilon, text]) => make(
    "li", epsilon === least ? { class: "best" } : {}, make("strong", {}, name), ` ${text}`,
  )));
}

function showOdds() {
  const epsilon = data.epsilons[state.epsilon];
  const factor = Math.exp(epsilon);
  const after = factor / (1 + factor);
  const rare = 0.01 * factor / (0.99 + 0.01 * factor);
  find("odds").textContent = `Without a δ, whoever reads the list can change their odds that you are in the data by a factor of at most `
    + `e^${epsilon} = ${factor < 100 ? factor.toPrecision(3) : whole.format(factor)}. `
    + `A guess of 50 % becomes at most ${share(after)}, and a guess of 1 % at most ${share(rare)}.`;
  find("odds-before").textContent = "before: 50 %";
  find("odds-before").style.width = "50%";
  find("odds-after").textContent = `after, at most: ${share(after)}`;
  find("odds-after").style.width = `${100 * after}%`;
}

// On a phone a row is shown as a block, which would hide from screen readers that it is a row: hence the roles.
function showTable() {
  const best = bestName();
  const names = Object.keys(cell().rows[best].cells);
  const head = make("tr", { role: "row" }, ...["mechanism", ...names].map((name, index) => make(
    "th", { role: "columnheader", scope: "col", ...(index ? { class: "number" } : {}) }, name)));
  const rows = Object.entries(cell().rows).map(([name, row]) => make(
    "tr", name === best ? { role: "row", class: "best" } : { role: "row" },
    make("th", { role: "rowheader", scope: "row" }, name === best ? `${name} (advised)` : name),
    ...names.map((column) => make("td", { role: "cell", class: "number", "data-label": column }, row.cells[column])),
  ));
  find("table").replaceChildren(make("thead", { role: "rowgroup" }, head), make("tbody", { role: "rowgroup" }, ...rows));
}

function showSamples() {
  const names = Object.keys(cell().rows);
  const menu = find("mechanism");
  const chosen = names.includes(state.mechanism) ? state.mechanism : names[0];
  menu.replaceChildren(...names.map((name) => make("option", { value: name }, name)));
  menu.value = chosen;
  const row = cell().rows[chosen];
  const size = data.sizes[state.size];
  find("cut").textContent = (row.ordered ? "" : "The list has no order; wrong items are shown first. ")
    + (size > data.places ? `The first ${data.places} of ${whole.format(size)} places are shown, then up to ${data.places} `
      + "wrong items of the others." : "");
  find("samples").replaceChildren(...row.samples.map((list, index) => {
    const places = list.map(([place, position]) => {
      const name = data.names[position] ?? `item ${whole.format(position + 1)}`;
      if (position < row.inside[index]) return make("li", { value: place }, make("span", {}, name));
      return make("li", { value: place }, make("span", { class: "wrong" }, `✗ ${name}`),
        make("span", { class: "rank" }, `true rank ${whole.format(position + 1)}`));
    });
    const group = row.sampled.length ? ` of a ${row.sampled[index]} group` : "";
    const title = make("h3", {}, `List ${index + 1}${group}: ${row.right[index]} of ${whole.format(size)} right`);
    return make("li", {}, title, places.length ? make(row.ordered ? "ol" : "ul", {}, ...places)
      : make("p", {}, "Nothing is listed."));
  }));
}

function show() {
  const epsilon = data.epsilons[state.epsilon], size = data.sizes[state.size];
  find("epsilon-value").textContent = epsilon;
  find("size-value").textContent = whole.format(size);
  find("epsilon").setAttribute("aria-valuetext", `epsilon ${epsilon}`);
  find("size").setAttribute("aria-valuetext", `${size} items`);
  const items = `${whole.format(data.items)} items${data.groups === null ? "" : ` in each of ${whole.format(data.groups)} groups`}`;
  const words = { k: whole.format(size), items, draws: whole.format(data.draws), budget: data.budget };
  document.querySelectorAll("[data-show]").forEach((each) => { each.textContent = words[each.dataset.show]; });
  showAdvice();
  showWish();
  showOdds();
  showCurve("curve-recall", "Recall against ε", (row) => row.recall, false);
  showCurve("curve-exact", "Probability of the exact list against ε", (row) => row.exact, false);
  showCurve("curve-largest", "Median largest error against ε", (row) => row.largest, true);
  showTable();
  showSamples();
}

for (const [name, values] of [["epsilon", data.epsilons], ["size", data.sizes]]) {
  const slider = find(name);
  slider.max = values.length - 1;
  slider.value = state[name];
  slider.addEventListener("input", () => { state[name] = Number(slider.value); show(); });
}
document.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
find("mechanism").addEventListener("change", (event) => { state.mechanism = event.target.value; showSamples(); });
find("copy").addEventListener("click", async () => {
  const text = find("command").textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    getSelection().selectAllChildren(find("command"));
    document.execCommand("copy");
  }
  find("copy").textContent = "Copied";
  setTimeout(() => { find("copy").textContent = "Copy"; }, 1500);
});
showLegend();
show();
