"use strict";
const at = id => document.getElementById(id);
let token = "", model = null;

async function ask(path, body) {
  const headers = {Authorization: `Bearer ${token}`};
  if (body) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, {method: body ? "POST" : "GET", headers, body});
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  return found;
}

async function attempt(work) {
  at("problem").textContent = "";
  try { await work(); } catch (error) { at("problem").textContent = error.message; }
}

function element(name, text, parent) {
  const made = document.createElement(name);
  made.textContent = text;
  parent.append(made);
  return made;
}

function control(column, n) {
  const box = element("div", "", at("columns")), label = element("label", column.name, box);
  const made = element(column.levels ? "select" : "input", "", box);
  made.id = label.htmlFor = `column-${n}`;
  if (!column.levels) { made.inputMode = "decimal"; return; }
  if (model.accepts_missing && !column.site) element("option", "", made);
  for (const level of column.levels) element("option", level, made);
}

function shown(found) {
  at("facts").textContent = `${found.estimator} of ${found.outcomes.join(", ")}, ` +
    `${found.columns.length} columns, deepnoise ${found.versions.deepnoise}.`;
  at("verdict").textContent = found.convergence ? `Convergence: ${found.convergence.verdict}.` : "";
  at("columns").replaceChildren();
  found.columns.forEach(control);
  at("asked").hidden = found.predicts === "classes" || found.outcomes.length > 1;
  at("open").hidden = false;
  at("key").hidden = true;
  at("body").textContent = JSON.stringify(question(), null, 1);
}

function question() {
  const row = {};
  model.columns.forEach((column, n) => {
    const text = at(`column-${n}`).value.trim();
    const number = Number(text.replace(",", "."));
    row[column.name] = text === "" ? null : column.levels || Number.isNaN(number) ? text : number;
  });
  const asked = {rows: [row]};
  if (model.predicts !== "classes") Object.assign(asked, {quantiles: [0.05, 0.5, 0.95], grid: {points: 120}});
  const c = Number(at("above").value.replace(",", "."));
  if (!at("asked").hidden && at("above").value.trim() !== "") asked.above = [c];
  return asked;
}

function table(pairs) {
  const made = element("table", "", at("answer"));
  for (const [name, value] of pairs) {
    const line = element("tr", "", made);
    element("th", name, line);
    element("td", typeof value === "number" ? value.toPrecision(5) : value ?? "beyond all numbers", line);
  }
}

function curve(grid, density) {
  const space = "http://www.w3.org/2000/svg", svg = document.createElementNS(space, "svg");
  const [low, high, top] = [grid[0], grid.at(-1), Math.max(...density)];
  svg.setAttribute("viewBox", "0 0 640 220");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `Density from ${low.toPrecision(4)} to ${high.toPrecision(4)}`);
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", "M" + grid.map((y, i) =>
    `${(10 + 620 * (y - low) / (high - low)).toFixed(1)},${(190 - 180 * density[i] / top).toFixed(1)}`).join("L"));
  svg.append(path);
  for (const [x, value, anchor] of [[10, low, "start"], [630, high, "end"]]) {
    const text = document.createElementNS(space, "text");
    text.setAttribute("x", x); text.setAttribute("y", 212); text.setAttribute("text-anchor", anchor);
    text.textContent = value.toPrecision(4);
    svg.append(text);
  }
  at("answer").append(svg);
}

function show(found) {
  at("answer").replaceChildren();
  if (found.classes) table(found.classes.map((name, n) => [`P(${name})`, found.probability[0][n]]));
  for (const one of found.outcomes ?? (found.classes ? [] : [found])) {
    element("h3", one.outcome, at("answer"));
    const lines = one.mean ? [["mean", one.mean[0]], ["sd", one.sd[0]]] : [];
    one.levels.forEach((level, n) => lines.push([`${100 * level} %`, one.quantiles[0][n]]));
    (one.thresholds ?? []).forEach((c, n) => lines.push([`P(y ≥ ${c})`, one.above[0][n]]));
    table(lines);
    if (one.grid?.length > 1) curve(one.grid, one.density[0]);
  }
  for (const warning of found.warnings) element("p", warning, at("answer"));
}

at("key").addEventListener("submit", event => {
  event.preventDefault();
  attempt(async () => { token = at("token").value.trim(); model = await ask("v1/model"); shown(model); });
});
at("row").addEventListener("submit", event => {
  event.preventDefault();
  attempt(async () => {
    const body = JSON.stringify(question(), null, 1);
    at("body").textContent = body;
    show(await ask("v1/predict", body));
  });
});
