"""The charts of a report as Vega-Lite specifications: plain dicts made from the facts."""

from __future__ import annotations

from typing import Any

from ..tuning.ranking import CLASSIFICATION, REGRESSION

# Colours that people with any kind of colour vision can tell apart (Okabe and Ito), dark ones first.
# The page puts others in the place of all of these in its dark mode.
INK, FAINT, GRID, PAPER = "#3d4450", "#767676", "#e6e8eb", "#ffffff"
COLOURS = ["#0072B2", "#D55E00", "#007A5E", "#7A4988", "#B8860B", "#444444", "#56B4E9", "#CC79A7"]

# Long names are cut in the middle: names of one table often begin alike.
HEAD, TAIL = 10, 16
SHORT = (
    f"length(datum.label) > {HEAD + TAIL + 1} ? slice(datum.label, 0, {HEAD}) + '…' + slice(datum.label, -{TAIL})"
    " : datum.label"
)


def charts(facts: dict[str, Any]) -> dict[str, dict]:
    """The charts that the facts have data for, by the name of their place in the page."""
    found = {name: draw(facts) for name, draw in {"weights": _weights, **OF_TASK[facts["task"]]}.items()}
    if "curves" in facts["path"]:
        found["path"] = _path(facts)
    if "posterior" in facts:
        found["posterior"] = _posterior(facts["posterior"])
    return {name: spec for name, spec in found.items() if spec["data"]["values"]}


def _chart(values: list, title: str, layers: list, height: int = 260, **more: Any) -> dict:
    return {
        "description": title,
        "data": {"values": values},
        "width": "container",
        "height": height,
        "autosize": {"type": "fit", "contains": "padding"},
        "layer": layers,
        "config": CONFIG,
        **more,
    }


CONFIG = {
    "background": "transparent",
    "font": "system-ui",
    "axis": {
        **{"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": 500, "labelColor": INK, "titleColor": INK},
        **{"gridColor": GRID, "domainColor": FAINT, "tickColor": FAINT, "labelSeparation": 8},
    },
    "legend": {"labelColor": INK, "titleColor": INK, "labelFontSize": 12, "titleFontSize": 12},
    "text": {"color": INK, "fontSize": 12},
    "view": {"stroke": None},
}


def _axis(field: str, title: str, **more: Any) -> dict:
    return {"field": field, "type": "quantitative", "title": title, **more}


UNIT = {"domain": [0, 1]}


def _roc(facts: dict) -> dict:
    return _over_thresholds(
        facts, "false_alarms", "recall", "false alarms among the others", "found of the class", "AUC", "auc", True
    )


def _precision(facts: dict) -> dict:
    return _over_thresholds(
        facts, "recall", "precision", "found of the class", "right when said", "average precision", "average_precision"
    )


def _over_thresholds(facts, x: str, y: str, x_title: str, y_title: str, words: str, area: str, diagonal=False) -> dict:
    """A curve over the thresholds of each class; those of other classes than the chosen one are faint."""
    chosen = facts["threshold"]["class"]
    values = [
        {x: row[x], y: row[y], "class": k, "at": at}
        for k, curve in enumerate(facts["curves"])
        for at, row in enumerate(curve)
    ]
    ends = _axis(x, x_title, scale=UNIT), _axis(y, y_title, scale=UNIT)
    chosen_only = {"condition": {"test": "datum.class === chosen", "value": 1}, "value": 0.18}
    line = {"mark": {"type": "line", "color": COLOURS[0], "strokeWidth": 2, "interpolate": "linear"},
            "encoding": {"x": ends[0], "y": ends[1], "detail": {"field": "class"}, "opacity": chosen_only,
                         "order": {"field": "at", "sort": "ascending"}}}  # fmt: skip
    here = {"mark": {"type": "point", "filled": True, "size": 120, "color": COLOURS[1]},
            "data": {"name": "here", "values": [{x: 0, y: 0}]}, "encoding": {"x": ends[0], "y": ends[1]}}  # fmt: skip
    told = [
        {"class": k, "text": f"{words} {one[area]:.3f}"}
        for k, one in enumerate(facts["quality"]["classes"])
        if one[area] is not None
    ]
    text = {"mark": {"type": "text", "align": "left", "baseline": "bottom", "fontWeight": 600},
            "data": {"values": told}, "transform": [{"filter": "datum.class === chosen"}],
            "encoding": {"x": {"datum": 0.35}, "y": {"datum": 0.06}, "text": {"field": "text"}}}  # fmt: skip
    ideal = [{"mark": {"type": "line", "strokeDash": [4, 4], "color": FAINT},
              "data": {"values": [{x: 0, y: 0}, {x: 1, y: 1}]}, "encoding": {"x": ends[0], "y": ends[1]}}]  # fmt: skip
    return _chart(
        values, f"{y_title} against {x_title}", [*(ideal if diagonal else []), line, text, here],
        params=[{"name": "chosen", "value": chosen}],
    )  # fmt: skip


def _calibration(facts: dict) -> dict:
    x = _axis("confidence", "confidence", scale=UNIT)
    line = {"mark": {"type": "line", "strokeDash": [4, 4], "color": FAINT},
            "data": {"values": [{"confidence": 0, "right": 0}, {"confidence": 1, "right": 1}]},
            "encoding": {"x": x, "y": _axis("right", "fraction right")}}  # fmt: skip
    points = {"mark": {"type": "point", "filled": True, "color": COLOURS[0], "tooltip": True},
              "encoding": {"x": x, "y": _axis("right", "fraction right", scale=UNIT),
                           "size": _axis("count", "samples", scale={"range": [30, 500]})}}  # fmt: skip
    return _chart(facts["calibration"], "Fraction right against confidence", [line, points])


def _risk(facts: dict) -> dict:
    curve = facts["risk_coverage"]
    values = [
        {"coverage": c, "risk": r, "threshold": t}
        for c, r, t in zip(curve["coverage"], curve["risk"], curve["threshold"], strict=True)
    ]
    x, y = _axis("coverage", "fraction accepted", scale=UNIT), _axis("risk", "error of the accepted")
    line = {"mark": {"type": "line", "color": COLOURS[0], "interpolate": "step-before", "tooltip": True},
            "encoding": {"x": x, "y": y}}  # fmt: skip
    return _chart(
        values, "Error of the accepted samples against the fraction accepted", [line, _here("coverage", x, 1.0)]
    )


def _weights(facts: dict) -> dict:
    kept = facts["kept"]
    several = len({row["class"] for row in kept["weights"]}) > 1
    values = [
        {
            "label": row["name"] + (f" → {row['favours']}" if several else ""),
            "weight": row["standard"],
            **({"favours": row["favours"]} if row["favours"] else {}),
            **(
                {"low": row["standard"] - row["error"], "high": row["standard"] + row["error"]}
                if kept["errors"]
                else {}
            ),
        }
        for row in kept["weights"][:25]
    ]
    y = {
        "field": "label",
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {"labelLimit": 220, "labelExpr": SHORT},
    }
    title = "weight per standard deviation" if kept["standardised"] else "weight"
    end = {"titleAnchor": "end"}  # on a narrow page a centred title would be cut off by long names
    bars = {"mark": {"type": "bar", "tooltip": True},
            "encoding": {"y": y, "x": _axis("weight", title, axis=end),
                         "color": {"condition": {"test": "datum.weight < 0", "value": COLOURS[1]},
                                   "value": COLOURS[0]}}}  # fmt: skip
    lines = {"mark": {"type": "rule", "color": INK, "strokeWidth": 1.5},
             "encoding": {"y": y, "x": _axis("low", title, axis=end), "x2": {"field": "high"}}}  # fmt: skip
    layers = [bars, lines] if kept["errors"] else [bars]
    return _chart(values, "The greatest weights", layers, height=max(120, 20 * len(values)))


def _posterior(found: dict) -> dict:
    """Means and intervals of the greatest weights, and the weights of the model."""
    several = len({row["class"] for row in found["weights"]}) > 1
    ends = {"low": "standard_lower", "high": "standard_upper", "mean": "standard_mean", "model": "standard_model"}
    values = [
        {
            "label": row["name"] + (f", {row['class']}" if several else ""),
            **{name: row[key] for name, key in ends.items()},
            "sign": row["sign"],
        }
        for row in found["weights"][:25]
    ]
    y = {"field": "label", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 220}}
    title, end = "weight per standard deviation", {"titleAnchor": "end"}
    lines = {"mark": {"type": "rule", "color": COLOURS[0], "strokeWidth": 2},
             "encoding": {"y": y, "x": _axis("low", title, axis=end), "x2": {"field": "high"}}}  # fmt: skip
    points = {"mark": {"type": "point", "filled": True, "size": 60, "color": COLOURS[0], "tooltip": True},
              "encoding": {"y": y, "x": _axis("mean", title, axis=end)}}  # fmt: skip
    model = {"mark": {"type": "point", "shape": "cross", "filled": True, "size": 40, "color": COLOURS[1]},
             "encoding": {"y": y, "x": _axis("model", title, axis=end)}}  # fmt: skip
    zero = {"mark": {"type": "rule", "color": FAINT}, "data": {"values": [{"mean": 0}]},
            "encoding": {"x": _axis("mean", title, axis=end)}}  # fmt: skip
    height = max(120, 20 * len(values))
    return _chart(values, "Posterior means and intervals of the greatest weights", [zero, lines, points, model], height)


def _path(facts: dict) -> dict:
    found = facts["path"]
    lams = [float(f"{lam:.6g}") for lam in found["lams"]]
    values = [
        {
            **{"curve": place, "name": curve["name"], **({"class": curve["class"]} if curve["class"] else {})},
            **{"lam": lams, "weight": [float(f"{value:.5g}") for value in curve["values"]]},
        }
        for place, curve in enumerate(found["curves"])
    ]
    scale = {"type": "log", "reverse": True, "nice": False}
    x = _axis(
        "lam",
        "strength of the prior (weaker to the right)",
        scale=scale,
        axis={"format": ".3~r", "labelOverlap": "greedy", "labelSeparation": 8},
    )
    names = list(dict.fromkeys(curve["name"] for curve in found["curves"]))
    colour = {"field": "name", "type": "nominal", "legend": None, "scale": {"domain": names, "range": COLOURS}}
    y = _axis("weight", "weight per standard deviation")
    lines = {"mark": {"type": "line", "tooltip": True, "strokeWidth": 2},
             "transform": [{"flatten": ["lam", "weight"]}],
             "encoding": {"x": x, "y": y, "detail": {"field": "curve"}, "color": colour}}  # fmt: skip
    text = {"type": "text", "align": "right", "dx": -4, "fontWeight": 600, "limit": 150}
    place = {"x": x, "y": y, "text": {"field": "text"}}
    halo = {"mark": {**text, "color": PAPER, "stroke": PAPER, "strokeWidth": 4}, "data": {"values": _labels(found)},
            "encoding": place}  # fmt: skip
    labels = {"mark": text, "data": {"values": _labels(found)}, "encoding": {**place, "color": colour}}
    model = {"mark": {"type": "rule", "strokeDash": [3, 3], "color": INK},
             "data": {"values": [{"lam": found["lam"]}]}, "encoding": {"x": x}}  # fmt: skip
    layers = [lines, _here("lam", x, found["lam"]), model, halo, labels]
    return _chart(values, "Weights against the strength of the prior", layers, height=380)


def _short(name: str) -> str:
    return name if len(name) <= HEAD + TAIL + 1 else f"{name[:HEAD]}…{name[-TAIL:]}"


APART = 0.06  # of the height: the least distance between two labels


def _labels(found: dict) -> list[dict]:
    """The name of each column at the end of its largest curve, moved up where two would overlap."""
    ends: dict[str, float] = {}
    for curve in found["curves"]:
        end = curve["values"][-1]
        if abs(end) >= abs(ends.get(curve["name"], 0.0)):
            ends[curve["name"]] = end
    every = [value for curve in found["curves"] for value in curve["values"]]
    height = (max(every) - min(every)) or 1.0
    placed, below = [], -float("inf")
    for name, end in sorted(ends.items(), key=lambda item: item[1]):
        below = max(end + 0.02 * height, below + APART * height)
        placed.append({"lam": found["lams"][-1], "weight": below, "name": name, "text": _short(name)})
    return placed


def _predicted(facts: dict) -> dict:
    values = _points(facts)
    ends = [min(min(row["observed"], row["predicted"]) for row in values),
            max(max(row["observed"], row["predicted"]) for row in values)]  # fmt: skip
    x, y = (_axis(name, name, scale={"domain": ends, "nice": True}) for name in ("predicted", "observed"))
    line = {"mark": {"type": "line", "strokeDash": [4, 4], "color": FAINT},
            "data": {"values": [{"predicted": end, "observed": end} for end in ends]},
            "encoding": {"x": x, "y": y}}  # fmt: skip
    return _chart(values, "Observed against predicted", [line, _dots(x, y, len(values))], height=320)


def _residuals(facts: dict) -> dict:
    values = [
        {"predicted": row["predicted"], "residual": row["residual"]} for row in _points(facts) if row["deviation"] > 0
    ]
    x, y = _axis("predicted", "predicted", scale={"zero": False}), _axis("residual", "residual / std. deviation")
    rules = {"mark": {"type": "rule", "strokeDash": [4, 4], "color": FAINT},
             "data": {"values": [{"residual": -NINE_OF_TEN}, {"residual": NINE_OF_TEN}]},
             "encoding": {"y": y}}  # fmt: skip
    return _chart(values, "Standardised residuals against predictions", [rules, _dots(x, y, len(values))])


NINE_OF_TEN = 1.6449  # standard deviations on each side


def _points(facts: dict) -> list[dict]:
    samples = facts["samples"]
    rows = zip(samples["observed"], samples["predicted"], samples["deviation"], strict=True)
    found = [
        {"observed": y, "predicted": mean, "deviation": std, "residual": (y - mean) / std if std > 0 else 0.0}
        for y, mean, std in rows
    ]
    return [{name: float(f"{value:.6g}") for name, value in row.items()} for row in found]


def _dots(x: dict, y: dict, number: int) -> dict:
    look = {"type": "point", "filled": True, "color": COLOURS[0], "size": 24, "tooltip": True}
    return {"mark": {**look, "opacity": 0.7 if number <= 300 else 0.35}, "encoding": {"x": x, "y": y}}


def _coverage(facts: dict) -> dict:
    x, y = _axis("level", "nominal level", scale=UNIT), _axis("inside", "targets inside", scale=UNIT)
    ideal = {"mark": {"type": "line", "strokeDash": [4, 4], "color": FAINT},
             "data": {"values": [{"level": 0, "inside": 0}, {"level": 1, "inside": 1}]},
             "encoding": {"x": x, "y": y}}  # fmt: skip
    line = {"mark": {"type": "line", "color": COLOURS[0], "tooltip": True}, "encoding": {"x": x, "y": y}}
    here = _here("level", x, facts["coverage"][-1]["level"])
    return _chart(facts["coverage"], "Targets inside intervals", [ideal, line, here])


def _surest(facts: dict) -> dict:
    x, y = _axis("share", "fraction accepted", scale=UNIT), _axis("rmse", "RMS error of the accepted")
    line = {"mark": {"type": "line", "color": COLOURS[0], "tooltip": True}, "encoding": {"x": x, "y": y}}
    return _chart(facts["surest"], "Error of the accepted samples", [line, _here("share", x, 1.0)])


def _here(field: str, x: dict, value: float) -> dict:
    """The vertical line that a slider moves."""
    return {"mark": {"type": "rule", "color": COLOURS[1], "strokeWidth": 2},
            "data": {"name": "here", "values": [{field: value}]}, "encoding": {"x": x}}  # fmt: skip


OF_TASK = {
    CLASSIFICATION: {"roc": _roc, "precision": _precision, "calibration": _calibration, "risk": _risk},
    REGRESSION: {"predicted": _predicted, "residuals": _residuals, "coverage": _coverage, "surest": _surest},
}
