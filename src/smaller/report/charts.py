"""The pictures of a report as Vega-Lite specifications: plain dicts made from the facts."""

from __future__ import annotations

from typing import Any

# Colours that people with any kind of colour vision can tell apart (Okabe and Ito), dark ones first.
COLOURS = ["#0072B2", "#D55E00", "#007A5E", "#7A4988", "#B8860B", "#444444", "#56B4E9", "#CC79A7"]


def charts(facts: dict[str, Any]) -> dict[str, dict]:
    """Those that the facts allow, by the name of their place in the page."""
    found = {"calibration": _calibration(facts), "risk": _risk(facts), "weights": _weights(facts)}
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
    here = {"mark": {"type": "rule", "color": COLOURS[1], "strokeWidth": 2},
            "data": {"name": "here", "values": values[-1:]},
            "encoding": {"x": x}}  # fmt: skip
    return _chart(values, "Error of the accepted samples against the fraction accepted", [line, here])


def _weights(facts: dict) -> dict:
    kept = facts["kept"]
    several = len({row["class"] for row in kept["weights"]}) > 1
    values = [
        {
            "label": row["name"] + (f" → {row['class']}" if several else ""),
            "weight": row["standard"],
            "class": row["class"],
        }
        for row in kept["weights"][:25]
    ]
    bars = {"mark": {"type": "bar", "tooltip": True},
            "encoding": {"y": {"field": "label", "type": "nominal", "sort": None, "title": None,
                               "axis": {"labelLimit": 220}},
                         "x": _axis("weight", "weight per standard deviation" if kept["standardised"] else "weight"),
                         "color": {"condition": {"test": "datum.weight < 0", "value": COLOURS[1]},
                                   "value": COLOURS[0]}}}  # fmt: skip
    return _chart(values, "The greatest weights", [bars], height=max(120, 20 * len(values)))


def _path(facts: dict) -> dict:
    found = facts["path"]
    values = [
        {"lam": lam, "weight": value, "curve": f"{curve['name']} → {curve['class']}", "name": curve["name"]}
        for curve in found["curves"]
        for lam, value in zip(found["lams"], curve["values"], strict=True)
    ]
    scale = {"type": "log", "reverse": True, "nice": False}
    x = _axis(
        "lam",
        "strength of the prior (weaker to the right)",
        scale=scale,
        axis={"format": ".2~g", "labelOverlap": "greedy", "labelSeparation": 8},
    )
    lines = {"mark": {"type": "line", "tooltip": True},
             "encoding": {"x": x, "y": _axis("weight", "weight per standard deviation"), "detail": {"field": "curve"},
                          "color": {"field": "name", "type": "nominal", "title": None,
                                    "scale": {"range": COLOURS},
                                    "legend": {"orient": "bottom", "columns": 2, "labelLimit": 160}}}}  # fmt: skip
    layers = [lines]
    if found["lam"] is not None:
        layers.append({"mark": {"type": "rule", "strokeDash": [3, 3], "color": "#555555"},
                       "data": {"values": [{"lam": found["lam"]}]}, "encoding": {"x": x}})  # fmt: skip
    layers.append({"mark": {"type": "rule", "color": COLOURS[1], "strokeWidth": 2},
                   "data": {"name": "here", "values": [{"lam": found["lams"][0]}]}, "encoding": {"x": x}})  # fmt: skip
    return _chart(values, "Weights against the strength of the prior", layers, height=340)
