'use strict';
// The controls are the state of the page. A change of any of them asks for a new picture; while
// one is on its way, further changes wait and are asked for together.

const at = (id) => document.getElementById(id);
const DIGITS = 6;
const LOST = 'The page has lost its server: start deepnoise explore again, and open its new address.';

// Controls.  A number box shows a few digits and keeps the exact value until somebody changes it.

class NumberControl {
  constructor(place) {
    this.box = at(place);
    this.slider = at(`${place}-slider`);
    this.outside = at(`${place}-outside`);
    const exact = this.box.dataset.exact;
    this.write(exact === '' ? Number(this.slider.min) : Number(exact));
    this.box.addEventListener('input', () => this.follow());
    this.slider.addEventListener('input', () => this.write(Number(this.slider.value)));
  }
  get changed() { return [this.box, this.slider]; }
  read() {
    if (this.box.value === '') return null;
    return this.box.value === this.short ? this.exact : Number(this.box.value);
  }
  write(value) {
    this.exact = value;
    this.short = String(Number(value.toPrecision(DIGITS)));
    this.box.value = this.short;
    this.follow();
  }
  // An empty box gets back what the slider has.
  fill() {
    if (this.read() === null) this.write(Number(this.slider.value));
  }
  follow() {
    const value = this.read();
    if (value === null) return;
    this.slider.value = value;
    this.slider.setAttribute('aria-valuetext', this.box.value);
    const inside = value >= Number(this.slider.min) && value <= Number(this.slider.max);
    this.outside.textContent = inside ? '' : 'outside the data';
  }
}

class LevelControl {
  constructor(place) { this.select = at(place); }
  get changed() { return [this.select]; }
  read() { return this.select.value; }
  write(level) { this.select.value = level; }
  fill() {}
}

class Column {
  constructor(element, place) {
    this.element = element;
    this.name = element.dataset.name.toLowerCase();
    this.control = at(`${place}-slider`) ? new NumberControl(place) : new LevelControl(place);
    this.button = at(`${place}-missing`);
    for (const part of this.control.changed) {
      part.addEventListener('input', () => {
        this.missing = this.control.read() === null;
        ask();
      });
    }
    if (this.button) {
      this.button.addEventListener('click', () => {
        this.missing = !this.missing;
        this.control.fill();
        ask();
      });
    }
  }
  get missing() { return Boolean(this.button) && this.button.getAttribute('aria-pressed') === 'true'; }
  set missing(yes) {
    if (!this.button) return;
    this.button.setAttribute('aria-pressed', yes);
    this.element.classList.toggle('is-missing', yes);
  }
  read() { return this.missing ? null : this.control.read(); }
  write(value) {
    this.missing = value === null;
    if (value !== null) this.control.write(value);
  }
}

class Scenario {
  constructor(element) {
    const name = element.dataset.scenario;
    this.row = at(`${name}-row`);
    this.columns = [...element.querySelectorAll('.control')].map(
      (part, j) => new Column(part, `${name}-${j}`));
    this.row.addEventListener('input', () => this.reset());
    at(`${name}-reset`).addEventListener('click', () => this.reset());
  }
  read() { return this.columns.map((column) => column.read()); }
  write(values) {
    this.columns.forEach((column, j) => column.write(values[j]));
    ask();
  }
  async reset() {
    const row = this.row.value;
    if (row === '') return;
    const answer = await post('row', { row: Number(row) });
    const values = answer && (await answer.json()).values;
    if (values && this.row.value === row) this.write(values);
  }
}

const picture = at('picture');
const scenarios = {};
for (const element of document.querySelectorAll('.scenario')) {
  scenarios[element.dataset.scenario] = new Scenario(element);
}
at('copy').addEventListener('click', () => {
  at('B-row').value = at('A-row').value;
  scenarios.B.write(scenarios.A.read());
});

// The threshold: a box, a slider below the axis, and the line in the picture.

const threshold = {
  box: at('c'),
  slider: at('c-slider'),
  set(value) {
    this.slider.value = value;
    this.box.value = Number(value.toPrecision(DIGITS));
    ask();
  },
  drag(event) {
    const drawing = picture.querySelector('svg');
    if (!drawing || !event.buttons) return;
    const { left, width } = drawing.getBoundingClientRect();
    const margin = Number(picture.dataset.margin) * width / drawing.viewBox.baseVal.width;
    const share = (event.clientX - left - margin) / (width - 2 * margin);
    const [low, high] = [Number(picture.dataset.low), Number(picture.dataset.high)];
    this.set(low + Math.min(Math.max(share, 0), 1) * (high - low));
  },
};
threshold.slider.addEventListener('input', () => threshold.set(Number(threshold.slider.value)));
threshold.box.addEventListener('input', () => {
  if (threshold.box.value === '') return;
  threshold.slider.value = threshold.box.value;
  ask();
});
picture.addEventListener('pointerdown', (event) => {
  picture.setPointerCapture(event.pointerId);
  threshold.drag(event);
});
picture.addEventListener('pointermove', (event) => threshold.drag(event));

// Asking and showing.

function question() {
  return {
    A: scenarios.A.read(),
    B: scenarios.B.read(),
    c: threshold.box.value === '' ? null : Number(threshold.box.value),
    width: picture.clientWidth,
  };
}

async function post(route, body) {
  const problem = at('problem');
  let answer;
  try {
    answer = await fetch(route, { method: 'POST', body: JSON.stringify(body) });
  } catch {
    problem.textContent = LOST;
    return null;
  }
  if (answer.ok) {
    problem.textContent = '';
    return answer;
  }
  problem.textContent = answer.status === 403 ? LOST : (await answer.json()).problem;
  return null;
}

let waiting = false;
let changed = false;

async function ask() {
  changed = true;
  if (waiting) return;
  waiting = true;
  while (changed) {
    changed = false;
    const answer = await post('answer', question());
    if (answer) show(await answer.json());
  }
  waiting = false;
}

function show(found) {
  // The picture was drawn, and escaped, by us; everything else is set as text.
  picture.innerHTML = found.svg;
  for (const [name, lines] of Object.entries(found.facts)) {
    at(`facts-${name}`).replaceChildren(...lines.flatMap(([key, value]) => {
      const [term, text] = [document.createElement('dt'), document.createElement('dd')];
      term.textContent = key;
      text.textContent = value;
      return [term, text];
    }));
  }
}

at('download').addEventListener('click', async () => {
  const answer = await post('sheet', question());
  if (!answer) return;
  const link = document.createElement('a');
  link.href = URL.createObjectURL(await answer.blob());
  link.download = 'predictions.csv';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
});

const filter = at('filter');
if (filter) {
  filter.addEventListener('input', () => {
    const wanted = filter.value.trim().toLowerCase();
    for (const { columns } of Object.values(scenarios)) {
      for (const column of columns) column.element.hidden = !column.name.includes(wanted);
    }
    const { columns } = scenarios.A;
    const shown = columns.filter((column) => !column.element.hidden).length;
    at('filter-found').textContent = wanted ? `${shown} of ${columns.length}` : '';
  });
}

// The first size, too, is a new one: it asks for the first picture.
let width = 0;
new ResizeObserver(() => {
  if (picture.clientWidth === width) return;
  width = picture.clientWidth;
  ask();
}).observe(picture);
