// What became of a text, word by word.

const PIECES = /\s+|[\p{L}\p{N}]+(?:['’][\p{L}\p{N}]+)*|[^\s\p{L}\p{N}]/gu;
const MOST = 1_500; // pieces on either side; beyond that the whole text counts as replaced

/** Pieces in order as [kind, text]: "same", "gone" or "new"; neighbours of one kind are one piece. */
export function diff(before, after) {
  const a = before.match(PIECES) ?? [];
  const b = after.match(PIECES) ?? [];
  if (a.length > MOST || b.length > MOST) return [["gone", before], ["new", after]];
  return tidy(joined(path(a, b)));
}

/** The longest common run of pieces, spaces worth little, so that words and not gaps are matched. */
function path(a, b) {
  const width = b.length + 1;
  const best = new Float32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const here = a[i] === b[j] ? best[(i + 1) * width + j + 1] + (a[i].trim() ? 1 : 0.1) : 0;
      best[i * width + j] = Math.max(here, best[(i + 1) * width + j], best[i * width + j + 1]);
    }
  }
  const steps = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { steps.push(["same", a[i]]); i++; j++; }
    else if (j >= b.length || (i < a.length && best[(i + 1) * width + j] >= best[i * width + j + 1])) steps.push(["gone", a[i++]]);
    else steps.push(["new", b[j++]]);
  }
  return steps;
}

function joined(steps) {
  const runs = [];
  for (const [kind, text] of steps) {
    if (runs.length && runs.at(-1)[0] === kind) runs.at(-1)[1] += text;
    else runs.push([kind, text]);
  }
  return runs;
}

/** A lone space between two changes belongs to them: "a b" -> "c d" is one change, not two. */
function tidy(runs) {
  const out = [];
  let gone = "", fresh = "";
  const flush = () => {
    if (gone) out.push(["gone", gone]);
    if (fresh) out.push(["new", fresh]);
    gone = fresh = "";
  };
  runs.forEach(([kind, text], at) => {
    if (kind === "gone") gone += text;
    else if (kind === "new") fresh += text;
    else if (!text.trim() && (gone && fresh) && at < runs.length - 1) { gone += text; fresh += text; }
    else { flush(); out.push(["same", text]); }
  });
  flush();
  return out;
}

/** The share of words that two texts have in common, of the shorter one. */
export function likeness(a, b) {
  const words = (text) => new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
  const [left, right] = [words(a), words(b)];
  const both = [...left].filter((word) => right.has(word)).length;
  return both / Math.max(1, Math.min(left.size, right.size));
}
