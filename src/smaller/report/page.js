const read = id => JSON.parse(document.getElementById(id).textContent);
const facts = read("facts"), specs = read("charts"), views = {};
const say = (id, text) => { const place = document.getElementById(id); if (place) place.textContent = text; };
const percent = x => Number.isFinite(x) ? (100 * x).toFixed(1) + " %" : "none";
const figures = x => Number(x.toPrecision(4)).toString().replace("-", "−");

function mark(name, row) {
  if (!views[name]) return;
  views[name].data("here", [row]).runAsync();
}

function strength() {
  const slider = document.getElementById("strength");
  if (!slider) return;
  const at = Number(slider.value), names = facts.path.names[at], kept = facts.path.kept[at];
  say("strength-lam", facts.path.lams[at].toPrecision(3)); say("strength-kept", kept);
  say("strength-names", names.join(", ") + (kept > names.length ? ", …" : ""));
  mark("path", {lam: facts.path.lams[at]});
}

// The controls by name, each with the function that updates its part of the page; other fields call `rest`.
async function start(controls, rest) {
  controls.strength = strength;
  const update = () => { for (const change of Object.values(controls)) change(); rest(); };
  document.addEventListener("input", event => (controls[event.target.id] || rest)());
  update();
  for (const [name, spec] of Object.entries(specs)) {
    const place = document.getElementById("chart-" + name);
    if (place) views[name] = (await vegaEmbed(place, spec, {mode: "vega-lite", actions: false, renderer: "svg"})).view;
  }
  update();
  document.documentElement.dataset.ready = "yes";
}
