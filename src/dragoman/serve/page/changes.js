// What a person tries: steps switched off, other weights, lexicon entries and guards; as the request takes it.

/** Nothing changed. */
export const none = () => ({ off: [], weights: { origins: {}, retrievers: {} }, lexicon: {}, fresh: [], out: [], guards: {}, outGuards: [] });

/** Whether anything is changed. */
export const changed = (changes) => count(changes) > 0;

/** How many things are changed. */
export function count(changes) {
  const { asked, query, origins, retrievers } = changes.weights;
  return changes.off.length + [asked, query].filter((value) => value !== undefined).length + Object.keys(origins).length
    + Object.keys(retrievers).length + Object.keys(changes.lexicon).length + changes.fresh.filter((line) => line.trim()).length
    + changes.out.length + Object.keys(changes.guards).length + changes.outGuards.length;
}

/** The part of /v1/explain's body that says so; empty where nothing is changed. */
export function bodyOf(changes, profile) {
  const body = {};
  if (changes.off.length) body.steps = profile.steps.filter((name) => !changes.off.includes(name));
  const { asked, query, origins, retrievers } = changes.weights;
  if (asked !== undefined || query !== undefined || Object.keys(origins).length || Object.keys(retrievers).length)
    body.weights = { ...(asked !== undefined && { asked }), ...(query !== undefined && { query }), origins, retrievers };
  const lexicon = [...changes.fresh, ...edited(changes).map((entry) => entry.line)].filter((line) => line.trim());
  const without = [...changes.out.flatMap((entry) => entry.left), ...Object.values(changes.lexicon).flatMap((entry) => entry.left)];
  const guards = ruled(changes);
  if (lexicon.length || without.length || guards.length || changes.outGuards.length)
    body.edits = { lexicon, without, guards, without_guards: changes.outGuards };
  return body;
}

/** What can be proposed of the changes: lexicon lines and guards, each with what it replaces, and those that are to go. */
export function proposable(changes, profile) {
  const known = (id) => profile.guards.find((guard) => guard.id === id);
  return [
    ...changes.fresh.filter((line) => line.trim()).map((line) => ({ line })),
    ...edited(changes).map((entry) => (entry.line.trim() ? { line: entry.line, replaces: entry.was } : { without: entry.was })),
    ...changes.out.map((entry) => ({ without: entry.was ?? entry.line })),
    ...ruled(changes).map((guard) => ({ guard, ...(known(guard.id) && { replaces: asText(known(guard.id)) }) })),
    ...changes.outGuards.map((id) => ({ without_guard: id })),
  ];
}

/** A guard as one line. */
export const asText = (guard) => `${guard.pattern} → ${guard.replacement}`;

/** Changed entries that are not left out as well. */
const edited = (changes) => Object.values(changes.lexicon).filter((entry) => !changes.out.some((each) => each.source === entry.source));

/** Guards that can be tried, but for those that are left out. */
const ruled = (changes) => Object.values(changes.guards).filter((guard) => guard.id && guard.pattern && !changes.outGuards.includes(guard.id));
