"""Ten deliberately messy tables, as people have them, with what each must be read as."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

ROWS = 240


class Messy(NamedTuple):
    """A table, the options that its description asks for, and the kinds that its columns must have."""

    file: str
    options: str  # for describe, fit and report
    kinds: dict[str, str]
    said: tuple[str, ...] = ()  # words of the description
    opening: str = ""  # options that predict needs


def tables(folder: Path) -> list[Messy]:
    """Write the tables; `y` is the target of all of them."""
    rng = np.random.default_rng(7)
    size, dose = rng.normal(10, 3, ROWS).round(2), rng.gamma(2.0, 800.0, ROWS).round(2)
    y = np.where(size + rng.normal(0, 1.5, ROWS) > 10, "high", "low")
    base = {"size": size, "dose": dose}
    makers = (_commas, _question_marks, _dates, _identifiers, _mark, _windows, _excel, _unlabelled, _rare, _many_texts)
    return [make(folder, base, y, rng) for make in makers]


def _written(folder: Path, name: str, columns: dict, y, encoding: str = "utf-8", separator: str = ",") -> str:
    frame = pd.DataFrame({**columns, "y": y})
    frame.to_csv(folder / name, index=False, encoding=encoding, sep=separator)
    return name


def _commas(folder, base, y, rng) -> Messy:
    grouped = [f"{value:,.2f}".translate(str.maketrans(",.", ".,")) for value in base["dose"]]
    columns = {"size": [str(value).replace(".", ",") for value in base["size"]], "dose": grouped}
    file = _written(folder, "commas.csv", columns, y, separator=";")
    said = ("numbers with a decimal comma", "points between thousands")
    return Messy(file, "", {"size": "numbers", "dose": "numbers"}, said)


def _question_marks(folder, base, y, rng) -> Messy:
    texts = base["size"].astype(str).astype(object)
    texts[::29] = "?"
    absent = np.where(np.arange(ROWS) % 31 == 0, -999, base["dose"])
    file = _written(folder, "marks.csv", {"size": texts, "dose": absent}, y)
    return Messy(file, "--impute --na -999", {"size": "numbers", "dose": "numbers"}, ("'?' (in 9 rows)",))


def _dates(folder, base, y, rng) -> Messy:
    days = pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(0, 900, ROWS), unit="D")
    columns = {**base, "visit": days.strftime("%d.%m.%Y"), "clock": [f"{h}:30" for h in rng.integers(7, 19, ROWS)]}
    file = _written(folder, "dates.csv", columns, y)
    kinds = {"size": "numbers", "visit": "dates", "clock": "dates"}
    return Messy(file, "", kinds, ("taken as year, month, weekday, days since the first (2021-03-0", "taken as hour"))


def _identifiers(folder, base, y, rng) -> Messy:
    codes = [f"P-{number:05d}" for number in rng.permutation(ROWS)]
    columns = {"patient": codes, "row": np.arange(ROWS) + 1, **base}
    file = _written(folder, "identifiers.csv", columns, y)
    kinds = {"patient": "left out", "row": "left out", "size": "numbers"}
    return Messy(file, "", kinds, ("a different text in every row", "it numbers the rows"))


def _mark(folder, base, y, rng) -> Messy:
    file = _written(folder, "mark.csv", base, y, encoding="utf-8-sig")
    return Messy(file, "", {"size": "numbers", "dose": "numbers"})


def _windows(folder, base, y, rng) -> Messy:
    towns = np.array(["Köln", "Zürich", "Málaga"])[rng.integers(0, 3, ROWS)]
    file = _written(folder, "windows.csv", {**base, "Größe": base["size"], "town": towns}, y, "cp1252", ";")
    kinds = {"size": "numbers", "Größe": "numbers", "town": "categories"}
    return Messy(file, "--encoding cp1252", kinds)


def _excel(folder, base, y, rng) -> Messy:
    days = pd.Timestamp("2023-01-05") + pd.to_timedelta(rng.integers(0, 60, ROWS), unit="D")
    mixed = base["size"].astype(object)
    mixed[[5, 50]] = "n.a."
    with pd.ExcelWriter(folder / "book.xlsx", engine="openpyxl") as book:
        pd.DataFrame({"about": ["made by hand"]}).to_excel(book, sheet_name="notes", index=False)
        pd.DataFrame({**base, "size": mixed, "day": days, "y": y}).to_excel(book, sheet_name="data", index=False)
    kinds = {"size": "numbers", "dose": "numbers", "day": "dates"}
    return Messy("book.xlsx", "--sheet data --impute", kinds, ("'n.a.' (in 2 rows)",), "--sheet data")


def _unlabelled(folder, base, y, rng) -> Messy:
    file = _written(folder, "unlabelled.csv", base, np.where(np.arange(ROWS) % 12 == 0, None, y))
    return Messy(file, "--drop-missing-target", {"size": "numbers", "dose": "numbers"})


def _rare(folder, base, y, rng) -> Messy:
    rows = 2_000
    size = rng.normal(0, 1, rows).round(3)
    rare = np.where(np.argsort(np.argsort(-size - rng.normal(0, 0.3, rows))) < rows // 100, "fraud", "fine")
    file = _written(folder, "rare.csv", {"amount": size, "noise": rng.normal(size=rows).round(3)}, rare)
    return Messy(file, "", {"amount": "numbers", "noise": "numbers"})


def _many_texts(folder, base, y, rng) -> Messy:
    rows = 4_000
    places = np.minimum(rng.zipf(1.4, rows) - 1, 999)
    size = rng.normal(10, 3, rows).round(2)
    labels = np.where(size + (places == 0) * 3 + rng.normal(0, 1, rows) > 10, "high", "low")
    file = _written(folder, "texts.csv", {"size": size, "place": [f"place {place}" for place in places]}, labels)
    return Messy(file, "", {"size": "numbers", "place": "categories"}, ("most frequent are categories",))
