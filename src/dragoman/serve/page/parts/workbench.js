// Where a person tries other steps, weights, lexicon entries and guards, and proposes what was better.

import { get, post } from "../api.js";
import { bodyOf, changed, count, none, proposable } from "../changes.js";
import { announce, button, fill, h, many, slider } from "../dom.js";

const TABS = { steps: "Steps", weights: "Weights", lexicon: "Lexicon", guards: "Guards" };
const PAUSE = 350; // milliseconds without a key before an edit is tried

/** The workbench. `tried` is called when the changes are to be run; it gives back what moved, or a problem. */
export function workbench({ profile, changes, record, tried, reset, keeps, question, tab = "lexicon", turned }) {
  const effect = h("p", { class: "effect", role: "status" });
  const body = h("div", { class: "bench-body", role: "tabpanel", id: "bench-panel", tabindex: "0" });
  const tabs = Object.entries(TABS).map(([name, label]) => h("button", {
    type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "bench-panel", "data-tab": name, on: { click: () => show(name), keydown: (event) => turn(event, name) },
  }, label));
  const reason = h("input", { class: "input", placeholder: "Why? (for whoever reviews it)", "aria-label": "Why you propose it", maxlength: 500 });
  let waiting = 0;
  const run = async (pause = 0) => {
    clearTimeout(waiting);
    await new Promise((done) => { waiting = setTimeout(done, pause); });
    foot();
    effect.textContent = await tried();
    foot();
  };
  const tools = { profile, changes, record, run, question };
  const show = (name) => {
    for (const each of tabs) {
      each.setAttribute("aria-selected", String(each.dataset.tab === name));
      each.tabIndex = each.dataset.tab === name ? 0 : -1;
    }
    body.setAttribute("aria-labelledby", `tab-${name}`);
    fill(body, PANELS[name](tools));
    turned?.(name);
  };
  const turn = (event, name) => {
    const names = Object.keys(TABS);
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const next = names[(names.indexOf(name) + by + names.length) % names.length];
    show(next);
    document.getElementById(`tab-${next}`).focus();
  };
  const base = h("div", { class: "bench-foot" });
  const foot = () => fill(base, effect,
    changed(changes) ? button(`Undo ${many(count(changes), "change")}`, () => { Object.assign(changes, none()); reset(); }, { class: "button small" }) : null,
    keeps && proposable(changes, profile).length ? propose(changes, profile, question, effect, reason) : null);
  show(tab);
  foot();
  return h("section", { class: "bench", "aria-label": "Try changes" }, h("div", { class: "bench-tabs", role: "tablist", "aria-label": "What to change" }, tabs), body, base);
}

const PANELS = { steps, weights, lexicon, guards };

function steps({ profile, changes, run }) {
  return [h("p", { class: "bench-note" }, "Leave steps out, for this page alone. Without any step the question is searched as it was asked."),
    h("div", { class: "switches" }, profile.steps.map((name) => h("label", { class: "switch" },
      h("input", { type: "checkbox", role: "switch", checked: !changes.off.includes(name), on: { change: (event) => {
        changes.off = event.target.checked ? changes.off.filter((each) => each !== name) : [...changes.off, name];
        run();
      } } }), name)))];
}

function weights({ profile, changes, record, run }) {
  const origins = [...new Set(record.searches.map((search) => search.origin))].filter((name) => !["question", "rewritten", "expanded"].includes(name));
  const knob = (label, value, set) => slider(label, value, { moving: (to) => { set(to); run(PAUSE); } });
  const own = changes.weights;
  return [h("p", { class: "bench-note" }, "How much each search and each retriever counts in the fusion. ", h("code", {}, "dragoman evaluate --tune"), " finds these on judged questions; here you see what they do to one."),
    h("div", { class: "sliders" },
      knob("the question as asked, beside a rewritten one", own.asked ?? profile.weights.asked, (value) => { own.asked = value; }),
      knob("the rewritten question", own.query ?? profile.weights.query, (value) => { own.query = Math.max(value, 0.01); }),
      origins.map((name) => knob(`searches of ${name}`, own.origins[name] ?? profile.weights.origins[name] ?? 1, (value) => { own.origins[name] = value; })),
      Object.entries(profile.weights.retrievers).map(([name, weight]) => knob(weight === null ? `${name}, times its weight by length` : name, own.retrievers[name] ?? weight ?? 1, (value) => { own.retrievers[name] = value; })))];
}

function lexicon({ profile, changes, record, run }) {
  const list = h("div", { class: "entries" });
  const note = h("p", { class: "bench-note" }, "Looking for the entries that bit …");
  const query = h("input", { class: "input", type: "search", placeholder: "Find entries by word", "aria-label": "Find entries by word" });
  const draw = (entries) => fill(list, fresh(changes, run), entries.map((entry) => oneEntry(entry, changes, run)));
  const bitten = [...new Set(record.steps.flatMap((step) => step.rules).filter((rule) => rule.rule.startsWith("lexicon")).map((rule) => rule.source))].filter((source) => !source.startsWith("proposed"));
  const first = async () => {
    const found = await Promise.all(bitten.slice(0, 12).map((source) => get(`/v1/lexicon?${new URLSearchParams({ profile: profile.name, source })}`)));
    const entries = found.flatMap((answer) => answer.entries);
    note.textContent = entries.length
      ? `${many(entries.length, "entry", "entries")} of ${profile.lexicon.toLocaleString("en")} bit in this question. Change one, leave one out, or write a new one: what moves is shown at once.`
      : `None of the ${many(profile.lexicon, "entry", "entries")} bit in this question. Find one by its words, or write a new one: what moves is shown at once.`;
    draw([...entries, ...Object.values(changes.lexicon).filter((entry) => !entries.some((each) => each.source === entry.source))]);
  };
  let waiting = 0;
  query.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      if (!query.value.trim()) { first(); return; }
      const found = await get(`/v1/lexicon?${new URLSearchParams({ profile: profile.name, contains: query.value })}`);
      note.textContent = `${many(found.matching, "entry", "entries")} with these words${found.matching > found.entries.length ? `, the first ${found.entries.length} shown` : ""}.`;
      draw(found.entries);
    }, PAUSE);
  });
  draw([]);
  first().catch((problem) => { note.textContent = problem.message; });
  return [note, h("div", { class: "entries" }, query, list)];
}

function fresh(changes, run) {
  if (!changes.fresh.length) changes.fresh = [""];
  return changes.fresh.map((line, at) => {
    const field = h("input", { class: "input", value: line, placeholder: "a new entry:  phone => handheld telephone   or   tire, tyre", "aria-label": "A new lexicon entry", spellcheck: "false", on: { input: () => { changes.fresh[at] = field.value; run(PAUSE); } } });
    return h("div", { class: line ? "entry changed" : "entry" }, field, button("Try it", () => run(), { class: "button small" }));
  });
}

function oneEntry(entry, changes, run) {
  const was = entry.was ?? entry.line;
  const edited = changes.lexicon[entry.source];
  const field = h("input", { class: "input", value: edited?.line ?? entry.line, "aria-label": `Entry ${entry.source}`, spellcheck: "false" });
  const row = h("div", { class: "entry" });
  const look = () => {
    row.classList.toggle("changed", Boolean(changes.lexicon[entry.source]));
    row.classList.toggle("out", isOut());
    leave.textContent = isOut() ? "Put back" : "Leave out";
  };
  const isOut = () => changes.out.some((each) => each.source === entry.source);
  const putBack = () => { changes.out = changes.out.filter((each) => each.source !== entry.source); };
  field.addEventListener("input", () => {
    putBack(); // who changes an entry wants it
    if (field.value === was) delete changes.lexicon[entry.source];
    else changes.lexicon[entry.source] = { ...entry, was, line: field.value };
    look();
    run(PAUSE);
  });
  const leave = button("Leave out", () => {
    if (isOut()) putBack();
    else changes.out = [...changes.out, entry];
    look();
    run();
  }, { class: "button small" });
  look();
  row.append(field, leave, h("span", { class: "meta" }, h("span", {}, entry.source), entry.comment ? h("span", {}, entry.comment) : null));
  return row;
}

function guards({ profile, changes, run }) {
  const one = (own, known) => {
    const place = known ? own.id : "new";
    const held = { ...own, ...changes.guards[place] };
    const isOut = () => known && changes.outGuards.includes(own.id);
    const putBack = () => { changes.outGuards = changes.outGuards.filter((each) => each !== own.id); };
    const look = () => {
      row.classList.toggle("changed", Boolean(changes.guards[place]));
      row.classList.toggle("out", isOut());
      leave.textContent = isOut() ? "Put back" : "Leave out";
    };
    const set = (name) => (event) => {
      held[name] = event.target.value;
      if (Object.keys(own).every((each) => held[each] === own[each])) delete changes.guards[place];
      else changes.guards[place] = held;
      putBack(); // who changes a guard wants it
      look();
      run(PAUSE);
    };
    const field = (name, label, mono) => h("label", {}, label, h("input", { class: mono ? "input mono" : "input", value: held[name], spellcheck: "false", readonly: known && name === "id", on: { input: set(name) } }));
    const leave = button("Leave out", () => {
      if (isOut()) putBack();
      else changes.outGuards = [...changes.outGuards, own.id];
      look();
      run();
    }, { class: "button small" });
    const row = h("div", { class: "entry" }, h("div", { class: "fields" }, field("id", "id"), field("reason", "reason"), field("pattern", "pattern (regular expression)", true), field("replacement", "what stands instead", true)),
      known ? leave : h("span", {}));
    look();
    return row;
  };
  return [h("p", { class: "bench-note" }, "Rules of the profile's own: held over every search, whoever wrote it, until nothing changes."),
    h("div", { class: "entries" }, profile.guards.map((guard) => one(guard, true)), one({ id: "", pattern: "", replacement: "", reason: "" }, false))];
}

function propose(changes, profile, question, effect, reason) {
  const save = button("Save as a proposal", async () => {
    save.disabled = true;
    try {
      const moved = effect.textContent.slice(0, 500);
      for (const each of proposable(changes, profile)) await post("/v1/proposals", { ...each, question, effect: moved, reason: reason.value, profile: profile.name });
      effect.textContent = "Saved. It waits under Review.";
      announce("Saved as a proposal.");
      save.textContent = "Saved";
    } catch (problem) {
      effect.textContent = problem.message;
      save.disabled = false;
    }
  }, { class: "button main small" });
  return [reason, save];
}

export { bodyOf };
