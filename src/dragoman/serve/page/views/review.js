// Proposals, and what was learned, reviewed entry by entry.

import { get, post, text } from "../api.js";
import { button, fill, h, many } from "../dom.js";
import { blank, failed } from "../parts/states.js";

const STATES = { open: "to review", accepted: "accepted", rejected: "rejected" };

/** Show the view in `root`. */
export async function review(root, state) {
  fill(root, head());
  if (!state.keeps.proposals) {
    fill(root, head(), blank("No proposals are kept here", h("p", { class: "soft" }, "Start the service with a file to keep them in:"),
      h("pre", { tabindex: "0" }, "dragoman serve … --proposals proposals.jsonl")));
    return;
  }
  try {
    const { proposals } = await get("/v1/proposals");
    draw(root, proposals, "open");
  } catch (problem) {
    fill(root, head(), failed(problem, () => review(root, state)));
  }
}

function head(...more) {
  return h("header", { class: "page-head" }, h("h1", {}, "Review"),
    h("p", {}, "Entries and guards that someone tried on a question and proposed. Accept one, change it first, or reject it; the profile's own files are never written."), more);
}

function draw(root, proposals, shown) {
  const those = proposals.filter((each) => each.status === shown);
  const filters = h("div", { class: "filters", role: "group", "aria-label": "Which proposals" }, Object.entries(STATES).map(([name, label]) =>
    button(`${proposals.filter((each) => each.status === name).length} ${label}`, () => draw(root, proposals, name), { class: "button small", "aria-pressed": String(name === shown) })));
  const accepted = proposals.some((each) => each.status === "accepted" && each.kind === "lexicon");
  fill(root, head(), filters,
    those.length ? h("ol", { class: "reviews" }, those.map((each) => card(each, (changed) => { Object.assign(each, changed); draw(root, proposals, shown); }))) : empty(shown, proposals.length),
    accepted && shown === "accepted" ? take() : null);
}

function empty(shown, total) {
  if (total) return blank(`Nothing ${STATES[shown]}`, h("p", { class: "soft" }, `${many(total, "proposal")} in all.`));
  return blank("Nothing proposed yet", h("p", { class: "soft" }, "Ask a question, open “Try changes”, edit an entry until the right passage comes up, and save it as a proposal."),
    h("a", { class: "button main", href: "#/" }, "Ask a question"));
}

function card(proposal, changed) {
  const guard = proposal.guard;
  const field = h("input", { class: "input mono", value: proposal.line ?? "", "aria-label": "The entry, to change", spellcheck: "false" });
  const problem = h("p", { class: "wrong", role: "alert" });
  const editing = h("div", { hidden: true }, field);
  const decide = (status, more = {}) => async () => {
    try {
      changed(await post(`/v1/proposals/${proposal.id}`, { status, ...more }));
    } catch (error) {
      problem.textContent = error.message;
    }
  };
  const edit = button("Change", () => { editing.hidden = !editing.hidden; edit.textContent = editing.hidden ? "Change" : "Accept as changed"; if (!editing.hidden) field.focus(); else decide("accepted", { line: field.value })(); }, { class: "button small" });
  return h("li", { class: `review ${proposal.status}` },
    h("div", { class: "row" }, h("p", { class: "rule" }, guard ? `${guard.pattern} → ${guard.replacement}` : proposal.line),
      h("span", { class: `state ${proposal.status}` }, STATES[proposal.status])),
    editing,
    h("dl", {},
      proposal.replaces ? [h("dt", {}, "instead of"), h("dd", { class: "mono" }, proposal.replaces)] : null,
      guard ? [h("dt", {}, "guard"), h("dd", {}, guard.id)] : null,
      proposal.reason ? [h("dt", {}, "why"), h("dd", {}, proposal.reason)] : null,
      proposal.question ? [h("dt", {}, "tried on"), h("dd", {}, h("a", { href: `#/?${new URLSearchParams({ q: proposal.question })}` }, proposal.question))] : null,
      proposal.effect ? [h("dt", {}, "what moved"), h("dd", {}, proposal.effect)] : null,
      h("dt", {}, "profile"), h("dd", {}, `${proposal.profile}, ${new Date(proposal.at).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" })}`)),
    problem,
    h("div", { class: "row" },
      proposal.status !== "accepted" ? button("Accept", decide("accepted"), { class: "button main small" }) : null,
      proposal.line && proposal.status === "open" ? edit : null,
      proposal.status !== "rejected" ? button("Reject", decide("rejected"), { class: "button small" }) : null,
      proposal.status !== "open" ? button("Review again", decide("open"), { class: "button small bare" }) : null));
}

function take() {
  const out = h("pre", { tabindex: "0", hidden: true, class: "mono" });
  return h("section", { class: "blank" }, h("p", { class: "soft" }, "The accepted lexicon entries as lines, for the profile's lexicon file:"),
    button("Show the lines", async () => { out.textContent = await text("/v1/accepted"); out.hidden = false; }), out);
}
