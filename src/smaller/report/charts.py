"""The charts of a report as Vega-Lite specifications: plain dicts made from the facts."""

from __future__ import annotations

from typing import Any

from ..tuning.ranking import CLASSIFICATION, REGRESSION

# Colours that people with any kind of colour vision can tell apart (Okabe and Ito), dark ones first.
COLOURS = ["#0072B2", "#D55E00", "#007A5E", "#7A4988", "#B8860B", "#444444", "#56B4E9", "#CC79A7"]


def charts(facts: dict[str, Any]) -> dict[str, dict]:
    """The charts that the facts have data for, by the name of their place in the page."""
    found = {name: draw(facts) for name, draw in {"weights": _weights, **OF_TASK[facts["task"]]}.items()}
    if "curves" in facts["path"]:
        found["path"] = _path(facts)
    return {name: spec for name, spec in found.items() if spec["data"]["values"]}


def _chart(values: list, title: str, layers: list, height: int = 260, **more: Any) -> dict:
    return {
        "description": title,
        "data": {"values": values},
        "width": "container",
        "height": height,
        "autosize": {"type": "fit", "contains": "padding"},
        "layer": layers,
        "config": {"axis": {"labelFontSize": 12, "titleFontSize": 12}, "view": {"stroke": None}, "font": "system-ui"},
        **more,
    }


def _axis(field: str, title: str, **more: Any) -> dict:
    return {"field": field, "type": "quantitative", "title": title, **more}


UNIT = {"domain": [0, 1]}


def _calibration(facts: dict) -> dict:
    x = _axis("confidence", "confidence", scale=UNIT)
    line = {"mark": {"type": "line", "strokeDash": [4, 4], "color": "#767676"},
            "data": {"values": [{"confidence": 0, "right": 0}, {"confidence": 1, "right": 1}]},
            "encoding": {"x": x, "y": _axis("right", "fraction right")}}  # fmt: skip
    points = {"mark": {"type": "point", "filled": True, "color": COLOURS[0], "tooltip": True},
              "encoding": {"x": x, "y": _axis("right", "fraction right", scale=UNIT),
                           "size": _axis("count", "samples")}}  # fmt: skip
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
    y = {"field": "label", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 220}}
    title = "weight per standard deviation" if kept["standardised"] else "weight"
    end = {"titleAnchor": "end"}  # on a narrow page a centred title would be cut off by long names
    bars = {"mark": {"type": "bar", "tooltip": True},
            "encoding": {"y": y, "x": _axis("weight", title, axis=end),
                         "color": {"condition": {"test": "datum.weight < 0", "value": COLOURS[1]},
                                   "value": COLOURS[0]}}}  # fmt: skip
    lines = {"mark": {"type": "rule", "color": "#222222", "strokeWidth": 1.5},
             "encoding": {"y": y, "x": _axis("low", title, axis=end), "x2": {"field": "high"}}}  # fmt: skip
    layers = [bars, lines] if kept["errors"] else [bars]
    return _chart(values, "The greatest weights", layers, height=max(120, 20 * len(values)))


def _path(facts: dict) -> dict:
    found = facts["path"]
    several = len({curve["class"] for curve in found["curves"]}) > 1
    values = [
        {
            "lam": lam,
            "weight": value,
            "curve": f"{curve['name']}, {curve['class']}" if several else curve["name"],
            "name": curve["name"],
        }
        for curve in found["curves"]
        for lam, value in zip(found["lams"], curve["values"], strict=True)
    ]
    scale = {"type": "log", "reverse": True, "nice": False}
    x = _axis(
        "lam",
        "strength of the prior (weaker to the right)",
        scale=scale,
        axis={"format": ".3~r", "labelOverlap": "greedy", "labelSeparation": 8},
    )
    lines = {"mark": {"type": "line", "tooltip": True},
             "encoding": {"x": x, "y": _axis("weight", "weight per standard deviation"), "detail": {"field": "curve"},
                          "color": {"field": "name", "type": "nominal", "title": None,
                                    "scale": {"range": COLOURS},
                                    "legend": {"orient": "bottom", "columns": 2, "labelLimit": 160}}}}  # fmt: skip
    model = {"mark": {"type": "rule", "strokeDash": [3, 3], "color": "#555555"},
             "data": {"values": [{"lam": found["lam"]}]}, "encoding": {"x": x}}  # fmt: skip
    layers = [lines, _here("lam", x, found["lam"]), model]
    return _chart(values, "Weights against the strength of the prior", layers, height=340)


def _predicted(facts: dict) -> dict:
    values = _points(facts)
    ends = [min(min(row["observed"], row["predicted"]) for row in values),
            max(max(row["observed"], row["predicted"]) for row in values)]  # fmt: skip
    x, y = (_axis(name, name, scale={"domain": ends, "nice": True}) for name in ("predicted", "observed"))
    line = {"mark": {"type": "line", "strokeDash": [4, 4], "color": "#767676"},
            "data": {"values": [{"predicted": end, "observed": end} for end in ends]},
            "encoding": {"x": x, "y": y}}  # fmt: skip
    return _chart(values, "Observed against predicted", [line, _dots(x, y, len(values))], height=320)


def _residuals(facts: dict) -> dict:
    values = [row for row in _points(facts) if row["deviation"] > 0]
    x, y = _axis("predicted", "predicted", scale={"zero": False}), _axis("residual", "residual / std. deviation")
    rules = {"mark": {"type": "rule", "strokeDash": [4, 4], "color": "#767676"},
             "data": {"values": [{"residual": -NINE_OF_TEN}, {"residual": NINE_OF_TEN}]},
             "encoding": {"y": y}}  # fmt: skip
    return _chart(values, "Standardised residuals against predictions", [rules, _dots(x, y, len(values))])


NINE_OF_TEN = 1.6449  # standard deviations on each side


def _points(facts: dict) -> list[dict]:
    samples = facts["samples"]
    rows = zip(samples["observed"], samples["predicted"], samples["deviation"], strict=True)
    return [
        {"observed": y, "predicted": mean, "deviation": std, "residual": (y - mean) / std if std > 0 else 0.0}
        for y, mean, std in rows
    ]


def _dots(x: dict, y: dict, number: int) -> dict:
    look = {"type": "point", "filled": True, "color": COLOURS[0], "size": 24, "tooltip": True}
    return {"mark": {**look, "opacity": 0.7 if number <= 300 else 0.35}, "encoding": {"x": x, "y": y}}


def _coverage(facts: dict) -> dict:
    x, y = _axis("level", "nominal level", scale=UNIT), _axis("inside", "targets inside", scale=UNIT)
    ideal = {"mark": {"type": "line", "strokeDash": [4, 4], "color": "#767676"},
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
    CLASSIFICATION: {"calibration": _calibration, "risk": _risk},
    REGRESSION: {"predicted": _predicted, "residuals": _residuals, "coverage": _coverage, "surest": _surest},
}
