// One colour a search, one pattern a retriever: words filled, meaning striped, any other dotted.

const COLOURS = 8;
const PATTERNS = { words: "", meaning: "striped" };

/** The colour of a search by its place; the question as asked is the first. */
export const colour = (place) => `var(--s${place === 0 ? 0 : ((place - 1) % (COLOURS - 1)) + 1})`;

/** The class that shows a retriever. */
export const pattern = (retriever) => PATTERNS[retriever.split(".").at(-1)] ?? "dotted"; // an engine's are "name.words"

const ORIGINS = {
  question: "as asked", rewritten: "noise taken out", expanded: "lexicon words added", rephrase: "said again by the model",
  decompose: "a part of it", contextualise: "made stand-alone", hypothesise: "a passage that would answer",
  feedback: "words of the first hits", memory: "a past question's", headings: "nearest headings", spelling: "spelt as the corpus spells",
};

/** What an origin means, in words. */
export const originText = (origin) => ORIGINS[origin] ?? `by ${origin}`;

const OUTCOMES = {
  rewritten: "rewritten", unchanged: "unchanged", off_topic: "off-topic", skipped: "skipped", timed_out: "timed out",
  refused: "refused", unreadable: "unreadable", rejected: "rejected", failed: "failed",
};

/** An outcome as it is read. */
export const outcomeText = (outcome) => OUTCOMES[outcome] ?? outcome;

/** Whether a step that came to this did not answer. */
export const unanswered = (outcome) => ["timed_out", "refused", "unreadable", "rejected", "failed"].includes(outcome);
