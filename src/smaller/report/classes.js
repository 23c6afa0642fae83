const P = facts.samples.P, codes = facts.samples.codes, best = facts.samples.decided, K = facts.data.classes.length;

function threshold() {
  const slider = document.getElementById("threshold"), t = Number(slider.value);
  let accepted = 0, wrong = 0;
  P.forEach((p, i) => { if (p[best[i]] >= t) { accepted += 1; wrong += best[i] !== codes[i]; } });
  say("threshold-value", t.toFixed(3)); say("accepted", accepted); say("rejected", P.length - accepted);
  say("accepted-wrong", wrong); say("accepted-error", percent(wrong / accepted));
  mark("risk", {coverage: accepted / P.length});
}

function cut() {
  const slider = document.getElementById("cut-at");
  if (!slider) return;
  const t = Number(slider.value), k = Number(document.getElementById("cut-class").value);
  let hits = 0, misses = 0, alarms = 0, passed = 0;
  P.forEach((p, i) => { const said = p[k] >= t, is = codes[i] === k; hits += said && is; misses += !said && is; alarms += said && !is; passed += !said && !is; });
  const share = (a, b) => a + b ? percent(a / (a + b)) : "none";
  say("cut-value", t.toFixed(3)); say("cut-hits", hits); say("cut-misses", misses); say("cut-alarms", alarms);
  say("cut-sensitivity", share(hits, misses)); say("cut-specificity", share(passed, alarms)); say("cut-precision", share(hits, alarms));
  const recall = hits + misses ? hits / (hits + misses) : 0;
  for (const name of ["roc", "precision"]) if (views[name]) views[name].signal("chosen", k);
  mark("roc", {false_alarms: alarms + passed ? alarms / (alarms + passed) : 0, recall});
  mark("precision", {recall, precision: hits + alarms ? hits / (hits + alarms) : 1});
}

// A prior whose field was not changed: the field shows it rounded, so the exact value is used.
const untouched = field => field.value === field.defaultValue;

function cost() {
  const here = facts.data.priors, priors = [...document.querySelectorAll(".prior")];
  const asTrained = priors.every(untouched);
  let future = priors.map((field, k) => untouched(field) ? here[k] : Math.max(Number(field.value) || 0, 0));
  const sum = future.reduce((a, b) => a + b, 0);
  if (!(sum > 0)) { say("mean-cost", "–"); return; }
  future = future.map(x => x / sum);
  const fields = [...document.querySelectorAll(".cost")].map(field => Math.max(Number(field.value) || 0, 0));
  const C = (k, j) => fields.length ? fields[k * K + j] : Number(k !== j);
  const field = document.getElementById("reject-cost");
  const aside = field && field.value !== "" ? Number(field.value) : Infinity;
  const decided = new Array(K + 1).fill(0), total = new Array(K).fill(0), number = new Array(K).fill(0);
  let changed = 0;
  P.forEach((p, i) => {
    const q = asTrained ? p : p.map((x, k) => here[k] > 0 ? x * future[k] / here[k] : 0);
    const z = q.reduce((a, b) => a + b, 0) || 1, expected = j => q.reduce((s, x, k) => s + x / z * C(k, j), 0);
    // Of decisions of equal cost, the most probable class is taken.
    let choice = best[i], least = expected(choice);
    for (let j = 0; j < K; j++) if (expected(j) < least - 1e-12 * (1 + least)) { least = expected(j); choice = j; }
    if (aside < least) choice = K;
    decided[choice] += 1; changed += choice !== best[i];
    total[codes[i]] += choice === K ? aside : C(codes[i], choice); number[codes[i]] += 1;
  });
  // With unchanged priors every sample counts once; otherwise each class is weighted by its prior.
  const mean = asTrained ? total.reduce((a, b) => a + b, 0) / P.length
    : future.reduce((s, f, k) => s + (number[k] ? f * total[k] / number[k] : 0), 0);
  say("weighting", asTrained ? "every sample counts once" : "each class is weighted by its future frequency");
  say("mean-cost", mean.toPrecision(3)); say("changed", changed); say("aside", decided[K]);
  [...document.querySelectorAll("#decided td")].forEach((cell, j) => { cell.textContent = decided[j]; });
}

await start({threshold, "cut-at": cut, "cut-class": cut}, cost);
