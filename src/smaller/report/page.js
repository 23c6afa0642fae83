const read = id => JSON.parse(document.getElementById(id).textContent);
const facts = read("facts"), specs = read("charts"), views = {};
const say = (id, text) => { const place = document.getElementById(id); if (place) place.textContent = text; };
const percent = x => Number.isFinite(x) ? (100 * x).toFixed(1) + "\u00a0%" : "none";
// Long names are cut in the middle: names of one table often begin alike.
const short = text => text.length > 40 ? text.slice(0, 16) + "…" + text.slice(-22) : text;
const figures = x => Number(Number(x).toPrecision(4)).toString().replace("-", "−");

// Colours of the charts in dark mode, in the place of those of light mode.
const DARK = {"#0072B2": "#56B4E9", "#D55E00": "#E69F00", "#007A5E": "#3ECFA0", "#7A4988": "#C79BD6", "#B8860B": "#E3C04A",
  "#444444": "#C9CED6", "#3d4450": "#d5dae1", "#767676": "#9AA3AE", "#e6e8eb": "#2d333b", "#ffffff": "#14171b"};
const root = document.documentElement, asked = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => root.dataset.theme === "dark";
const coloured = spec => !isDark() ? spec
  : JSON.parse(Object.entries(DARK).reduce((text, [light, dark]) => text.replaceAll(light, dark), JSON.stringify(spec)));

function mark(name, row) {
  if (!views[name]) return;
  views[name].data("here", [row]).runAsync();
}

function strength() {
  const slider = document.getElementById("strength");
  if (!slider) return;
  const at = Number(slider.value), names = facts.path.names[at], kept = facts.path.kept[at];
  say("strength-lam", facts.path.lams[at].toPrecision(3)); say("strength-kept", kept);
  say("strength-names", names.map(short).join(", ") + (kept > names.length ? ", …" : ""));
  mark("path", {lam: facts.path.lams[at]});
}

async function draw() {
  for (const [name, spec] of Object.entries(specs)) {
    const place = document.getElementById("chart-" + name);
    if (place) views[name] = (await vegaEmbed(place, coloured(spec), {mode: "vega-lite", actions: false, renderer: "svg"})).view;
  }
}

// The section that is read is marked in the contents.
function follow() {
  const links = new Map([...document.querySelectorAll("nav a")].map(link => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver(entries => {
    const entry = entries.find(one => one.isIntersecting);
    if (!entry) return;
    for (const [id, link] of links) {
      if (id === entry.target.getAttribute("aria-labelledby")) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }, {rootMargin: "-10% 0px -70% 0px"});
  document.querySelectorAll("main section").forEach(section => seen.observe(section));
}

// The controls by name, each with the function that updates its part of the page; other fields call `rest`.
async function start(controls, rest) {
  Object.assign(controls, {strength, row});
  const update = () => { for (const change of Object.values(controls)) change(); rest(); };
  const theme = document.getElementById("theme");
  const paint = async dark => {
    root.dataset.theme = dark ? "dark" : "light"; theme.setAttribute("aria-pressed", String(dark));
    theme.textContent = dark ? "Light" : "Dark";
    await draw(); update();
  };
  document.addEventListener("input", event => (controls[event.target.id] || rest)());
  theme.addEventListener("click", () => paint(!isDark()));
  asked.addEventListener("change", event => paint(event.matches));
  update(); follow();
  await paint(asked.matches);
  root.dataset.ready = "yes";
}
