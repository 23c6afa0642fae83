function level() {
  const row = facts.coverage[Number(document.getElementById("level").value)];
  const n = facts.data.samples, inside = Math.round(row.inside * n);
  say("level-value", percent(row.level)); say("inside", inside); say("outside", n - inside);
  say("inside-share", percent(row.inside)); say("width", figures(row.width));
  mark("coverage", {level: row.level});
}

function share() {
  const row = facts.surest[Number(document.getElementById("share").value)];
  say("share-value", percent(row.share)); say("share-accepted", row.accepted);
  say("share-aside", facts.data.samples - row.accepted);
  say("share-deviation", figures(row.deviation)); say("share-rmse", figures(row.rmse));
  mark("surest", {share: row.share});
}

await start({level, share}, () => {});
