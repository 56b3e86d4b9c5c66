// The question's box, the conversation before it, and examples one click away.

import { button, h } from "../dom.js";

const KINDS = {
  chatty: "In everyday words", misspelt: "Misspelt", two_part: "Two needs at once", situation: "A situation",
  follow_up: "Follow-ups", off_topic: "Off-topic", clean: "In the corpus's own words", "": "From the profile",
};
const SHOWN_A_KIND = 3;

/** The box. `state` has the question, the turns before it and whether this is a conversation. */
export function askBox(state, { ask, change, small = false, extra = null }) {
  const field = h("textarea", { id: "question", rows: 1, maxlength: 20000, placeholder: "Ask in your own words", "aria-label": "Your question", value: state.question, enterkeyhint: "search" });
  const go = (event) => {
    event?.preventDefault();
    if (field.value.trim()) ask(field.value.trim());
    else field.focus();
  };
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) go(event);
  });
  const talk = button("Conversation", () => change({ talking: !state.talking, turns: [] }), { class: "button small", "aria-pressed": String(state.talking), title: "Later questions are read with the ones before them" });
  return h("form", { class: small ? "ask small" : "ask", role: "search", on: { submit: go } },
    state.talking && state.turns.length ? turns(state, change) : null,
    h("div", { class: "ask-box" }, field, h("button", { class: "button main", type: "submit" }, "Ask")),
    h("div", { class: "ask-more" }, talk, extra));
}

function turns(state, change) {
  return h("div", {}, h("ol", { class: "talk", "aria-label": "The conversation so far" }, state.turns.map((turn) => h("li", { class: turn.role },
    h("b", {}, turn.role === "user" ? "Asked" : "Found"), h("span", {}, turn.text.length > 180 ? `${turn.text.slice(0, 179)}…` : turn.text)))),
  button("Begin a new conversation", () => change({ turns: [] }), { class: "button small bare" }));
}

/** Examples, by what is hard about them. */
export function examples(list, pick) {
  const kinds = new Map();
  for (const example of list) kinds.set(example.kind, [...(kinds.get(example.kind) ?? []), example]);
  const order = [...Object.keys(KINDS), ...[...kinds.keys()].filter((kind) => !(kind in KINDS))];
  return h("div", { class: "examples" }, order.filter((kind) => kinds.has(kind)).map((kind) => h("section", {},
    h("h2", {}, KINDS[kind] ?? kind),
    h("ul", {}, kinds.get(kind).slice(0, SHOWN_A_KIND).map((example) => h("li", {},
      h("button", { type: "button", class: "example", on: { click: () => pick(example) } },
        example.history?.length ? h("small", {}, `after: ${example.history.find((turn) => turn.role === "user")?.text ?? ""}`) : null, example.question)))))));
}
