// The picked row: its prediction in words, and what every part adds to it.
function row() {
  const picked = document.getElementById("row");
  if (!picked) return;
  const why = facts.rows.rows[Number(picked.value)], classes = facts.task === "classification";
  const truth = classes ? (why.truth === why.predicted ? ", which is right" : `; the truth is ${why.truth}`) : `; the truth is ${figures(why.truth)}`;
  const sure = classes ? `with a probability of ${percent(why.confidence)}` : `± ${figures(why.deviation)}`;
  const said = classes ? why.predicted : figures(why.predicted);
  const meaning = classes ? ` Numbers above 0 favour ${why.towards}, numbers below 0 ${why.against}.` : "";
  say("row-says", `Row ${why.row}: ${said} ${sure}${truth}.${meaning}`);
  const start = facts.rows.kernel ? "the intercept" : "all values at their means";
  const parts = why.columns.map((j, i) => [facts.rows.names[j], figures(why.values[i]), why.added[i]]);
  if (why.others) parts.push([`${why.others} others`, "", why.rest]);
  parts.push([start, "", why.base], ["sum", "", why.score]);
  const most = Math.max(...parts.map(part => Math.abs(part[2]))) || 1;
  document.getElementById("row-parts").replaceChildren(...parts.map(([name, value, added]) => {
    const line = document.createElement("tr"), head = document.createElement("th"), bar = document.createElement("td");
    head.scope = "row"; head.textContent = short(name); if (short(name) !== name) head.title = name; line.append(head);
    for (const text of [value, (added > 0 ? "+" : "") + figures(added)]) {
      const cell = document.createElement("td"); cell.textContent = text; line.append(cell);
    }
    const track = document.createElement("span"), part = document.createElement("span"), width = 50 * Math.min(Math.abs(added) / most, 1);
    track.className = "track"; bar.className = "bar"; bar.setAttribute("aria-hidden", "true");
    part.style.width = width + "%"; part.style.left = (added < 0 ? 50 - width : 50) + "%";
    if (added < 0) part.className = "against";
    track.append(part); bar.append(track); line.append(bar);
    return line;
  }));
}
