// Elements from plain values. Text is always text: nothing here, or anywhere on the page, reads markup.

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "path", "circle", "line", "rect", "g", "text"]);

/** An element. Attributes by name; `on` holds listeners, `css` custom properties; children are nodes or text. */
export function h(tag, attributes = {}, ...children) {
  const element = SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, listen] of Object.entries(value)) element.addEventListener(event, listen);
    else if (name === "css") for (const [key, to] of Object.entries(value)) element.style.setProperty(key, to);
    else if (name === "value" || name === "checked" || name === "selected") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Put these in place of everything that is in `element`. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** A button. */
export function button(label, act, attributes = {}) {
  return h("button", { type: "button", class: "button", ...attributes, on: { click: act } }, label);
}

let sliders = 0;

/** A slider with its value beside its name. `moving` hears every move, `moved` the last one. */
export function slider(name, value, { most = 3, moving, moved }) {
  const id = `slider-${++sliders}`;
  const read = (event) => Number(event.target.value);
  const out = h("output", { for: id }, Number(value).toFixed(2));
  return h("div", { class: "slider" }, h("label", { for: id }, name), out, h("input", { id, type: "range", min: 0, max: most, step: 0.05, value, on: {
    input: (event) => { out.textContent = read(event).toFixed(2); moving?.(read(event)); },
    change: (event) => moved?.(read(event)),
  } }));
}

/** Tell those who hear the page. */
export function announce(text) {
  document.getElementById("status").textContent = text;
}

/** `1 hit`, `2 hits`. */
export function many(count, one, more = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : more}`;
}

/** Seconds as milliseconds that a person reads. */
export function ms(seconds) {
  const value = seconds * 1000;
  if (value >= 9950) return `${seconds.toFixed(1)} s`;
  return value >= 99.5 ? `${Math.round(value).toLocaleString("en")} ms` : value >= 9.95 ? `${Math.round(value)} ms` : value >= 0.1 ? `${value.toFixed(1)} ms` : "< 0.1 ms";
}
