"""What a column is, by the kinds of its texts: numbers, categories, dates, or a problem with its remedy."""

from __future__ import annotations

from typing import NamedTuple

from .columns import Columns, Reading, listed
from .dates import Dates, learn_dates
from .identifiers import FEW
from .text_kinds import (
    ABSENT,
    COMMA,
    COMMA_OR_THOUSANDS,
    DATE,
    DOTTED,
    DOTTED_THOUSANDS,
    TEXT,
    THOUSANDS,
    WRITTEN_AS_NUMBER,
    Texts,
    mark_of_thousands,
    unit_of,
)

CATEGORIES = 200  # with more different texts than this, only the frequent ones are categories
FREQUENT, OFTEN = 50, 5  # so many texts, each in so many rows at least, are then categories
NUMBERS = 0.95  # with at least this share of numbers, a column counts as numbers
EMPTY = "left out, as no row has a value"
CATEGORICAL, BY_COMMA = "text, taken as categories", "numbers with a decimal comma"


class Judgement(NamedTuple):
    """What one column is: its part of `Columns`, or a problem."""

    problem: str = ""
    remark: str = ""
    kept: bool = True
    categories: list[str] | None = None
    others: bool = False
    dates: Dates | None = None
    comma: bool = False
    thousands: str = ""
    missing: list[str] | None = None


def judged(
    texts: dict[str, Texts],
    distinct: list[str],
    commas: list[str],
    used: list[str],
    remarks: dict[str, str],
    rows: int,
    wanted: Reading,
) -> tuple[Columns, dict[str, str]]:
    """The columns of the table, and problems by column; `commas` are known to have a decimal comma and nothing else."""
    by_comma = wanted.decimal == "," or bool(commas) or any(found.rows[COMMA] for found in texts.values())
    found = {name: _judge(name, seen, name in distinct, by_comma, rows, wanted) for name, seen in texts.items()}
    kept = {name: one for name, one in found.items() if one.kept and not one.problem}
    inputs = {name: one for name, one in kept.items() if name != wanted.target}
    categories = {name: one.categories for name, one in inputs.items() if one.categories is not None}
    columns = Columns(
        [name for name in used if name not in found or name in kept],
        categories,
        {name: texts[name].most_frequent for name in categories if texts[name].counts} if wanted.impute else {},
        wanted.target,
        commas=[*commas, *(name for name, one in kept.items() if one.comma)],
        missing={name: one.missing for name, one in kept.items() if one.missing},
        remarks={
            **remarks,
            **dict.fromkeys(commas, BY_COMMA),
            **{name: one.remark for name, one in found.items() if one.remark and name != wanted.target},
        },
        thousands={name: one.thousands for name, one in kept.items() if one.thousands},
        dates={name: one.dates._asdict() for name, one in inputs.items() if one.dates is not None},
        others=[name for name, one in inputs.items() if one.others],
    )
    return columns, {name: one.problem for name, one in found.items() if one.problem}


def _judge(name: str, texts: Texts, distinct: bool, by_comma: bool, rows: int, wanted: Reading) -> Judgement:
    is_target = name == wanted.target
    if not texts.present and not is_target:
        return Judgement(remark=EMPTY, kept=False)
    if _has_numbers(name, texts, wanted):
        return _numbers(name, texts, by_comma, rows, wanted)
    if _has_dates(texts) and name not in wanted.categorical:
        return _dates(name, texts, is_target, wanted)
    unit = "" if name in wanted.categorical else texts.unit(NUMBERS)
    if unit:
        return Judgement(_about_unit(name, unit, texts))
    if is_target:
        return Judgement("" if name in wanted.categorical else _about_labels(name, texts))
    return _categories(name, texts, distinct, rows, wanted)


# -- numbers


def _has_numbers(name: str, texts: Texts, wanted: Reading) -> bool:
    if name in wanted.categorical:
        return False
    numbers = texts.number(*WRITTEN_AS_NUMBER)
    return name in wanted.numeric or numbers >= NUMBERS * max(texts.present, 1)


def _numbers(name: str, texts: Texts, by_comma: bool, rows: int, wanted: Reading) -> Judgement:
    mark, problem = _thousands(name, texts, by_comma, wanted)
    problem = problem or _about_numbers(name, texts, mark, by_comma, wanted)
    if name == wanted.target and not wanted.drop_missing_target:
        problem = problem or _about_missing_target(name, texts, rows)
    comma = mark == "." or (bool(texts.number(COMMA, COMMA_OR_THOUSANDS)) and mark != ",")
    comma = comma or (mark not in ("", ",") and any("," in text for text in texts.of(THOUSANDS)))
    remark = _as_numbers(texts, comma, mark)
    return Judgement(problem, remark, comma=comma, thousands=mark, missing=texts.of(TEXT, DATE))


def _thousands(name: str, texts: Texts, by_comma: bool, wanted: Reading) -> tuple[str, str]:
    """The mark between thousands, empty for none; or a problem with it."""
    marks = {mark_of_thousands(text) for text in texts.of(THOUSANDS)}
    dotted = texts.of(DOTTED)
    if texts.rows[COMMA_OR_THOUSANDS] and (wanted.decimal == "." or wanted.thousands == ","):
        marks.add(",")
    like_thousands = bool(dotted) and all(DOTTED_THOUSANDS.fullmatch(text.strip()) for text in dotted)
    if like_thousands and wanted.thousands == ".":
        marks.add(".")
    if not marks and like_thousands and by_comma and wanted.thousands is None and not texts.number(TEXT, DATE):
        return "", (
            f"Column {name!r} has numbers such as {dotted[0]!r}, with a decimal point or a mark between thousands, and "
            "other columns have decimal commas; use --thousands . if it is a thousand, otherwise --thousands none."
        )
    shown = listed(texts.of(THOUSANDS)[:2] or dotted[:2])
    if len(marks) > 1 or (marks and wanted.thousands not in (None, *marks)):
        return (
            "",
            f"Column {name!r} has different marks between thousands, as in {shown}; write them alike.",
        )
    return (marks.pop() if marks else ""), ""


def _about_numbers(name: str, texts: Texts, mark: str, by_comma: bool, wanted: Reading) -> str:
    """Why a column of numbers cannot be read, with the remedy; empty where it can."""
    commas = (COMMA,) if mark == "," else (COMMA, COMMA_OR_THOUSANDS)
    decimal_points = [text for text in texts.of(DOTTED) if mark != "." or not DOTTED_THOUSANDS.fullmatch(text.strip())]
    if texts.number(*commas) and (decimal_points or mark == ","):
        other = decimal_points[0] if decimal_points else texts.of(THOUSANDS, COMMA_OR_THOUSANDS)[0]
        remedy = "use --thousands , if commas stand between thousands" if not texts.rows[COMMA] else "write them alike"
        return (
            f"Column {name!r} has two decimal marks, as in {texts.of(*commas)[0]!r} and {other!r}; {remedy}, or leave "
            f"it out with --ignore {name!r}."
        )
    if texts.number(*commas) and not by_comma and mark != ".":
        return (
            f"Column {name!r} has numbers such as {texts.of(*commas)[0]!r}, with a decimal comma or a thousands "
            "separator; use --decimal , if it is the decimal mark, or --thousands , if it stands between thousands."
        )
    odd = texts.number(TEXT, DATE)
    if name in wanted.numeric:
        readable = texts.number(*WRITTEN_AS_NUMBER) and not texts.more
        return "" if readable else f"Column {name!r} has too few numbers for --numeric; leave the option out."
    if odd:
        return (
            f"Column {name!r} has numbers but for {listed(texts.of(TEXT, DATE), 3)} ({odd} of {texts.present} values). "
            f"Use --numeric {name!r} to count them as missing, --categorical {name!r} to take every value as a "
            f"category, or --ignore {name!r}."
        )
    return ""


def _about_missing_target(name: str, texts: Texts, rows: int) -> str:
    missing = texts.of(ABSENT)
    if not missing:
        return ""
    return (
        f"The target {name!r} is missing in {texts.rows[ABSENT]} of {rows} rows, where it is {listed(missing, 3)}; "
        f"leave these rows out with --drop-missing-target, or use --categorical {name!r} if that is a class."
    )


def _as_numbers(texts: Texts, comma: bool, mark: str) -> str:
    marks = {" ": "spaces", ",": "commas", ".": "points", "'": "apostrophes"}
    numbers = BY_COMMA if comma else "numbers"
    numbers += f"{' and' if comma else ' with'} {marks.get(mark, mark)} between thousands" if mark else ""
    absent, count = texts.of(ABSENT, TEXT, DATE), texts.number(ABSENT, TEXT, DATE)
    in_rows = f"in {count} row{'s' if count > 1 else ''}"
    missing = f"; {listed(absent, 3)} ({in_rows}) {'count' if len(absent) > 1 else 'counts'} as missing"
    return f"{numbers}{missing if absent else ''}"


def _about_unit(name: str, unit: str, texts: Texts) -> str:
    shown = next(text for text in texts.of(TEXT) if unit_of(text) == unit)
    return (
        f"Column {name!r} has numbers with the unit {unit!r}, such as {shown!r}; write the numbers alone, leave the "
        f"column out with --ignore {name!r}, or use --categorical {name!r} to take every value as a category."
    )


# -- dates


def _has_dates(texts: Texts) -> bool:
    return texts.present > 0 and texts.rows[DATE] >= NUMBERS * texts.present


def _dates(name: str, texts: Texts, is_target: bool, wanted: Reading) -> Judgement:
    written = texts.of(DATE)
    found = "are the target, which must be a number or a class" if is_target else learn_dates(written, wanted.day_first)
    odd = texts.of(TEXT, *WRITTEN_AS_NUMBER)
    if odd and not isinstance(found, str):
        found = f"come with other texts, such as {odd[0]!r}"
    if isinstance(found, str):
        return Judgement(
            f"Column {name!r} has dates or times, such as {written[0]!r}, that {found}. Or put numbers in their place, "
            f"such as the days since the first one; leave it out with --ignore {name!r}; or use --categorical "
            f"{name!r} to take every date as a category."
        )
    if not found.parts:
        return Judgement(remark="left out, as all dates are the same", kept=False)
    since = f" ({found.first})" if found.format and "hour" not in found.parts[:1] else ""
    return Judgement(remark=f"dates or times, taken as {', '.join(found.parts)}{since}", dates=found)


# -- categories


def _categories(name: str, texts: Texts, distinct: bool, rows: int, wanted: Reading) -> Judgement:
    limit = min(CATEGORIES, max(rows // 2, FEW))
    if len(texts.counts) <= limit:
        return Judgement(remark=_as_categories(texts), categories=sorted(texts.counts))
    asked, numbers = name in wanted.categorical, texts.number(*WRITTEN_AS_NUMBER)
    if not asked and 2 * numbers > texts.present:
        return Judgement(_about_mixture(name, texts))
    frequent = [text for text, count in texts.counts.most_common(FREQUENT) if count >= OFTEN]
    if len(frequent) < 2 or distinct:
        return _left_out(name, texts, distinct, asked)
    rest = texts.present + texts.rows[ABSENT] - sum(texts.counts[text] for text in frequent)
    many = f"{'more than ' if texts.more else ''}{len(texts.counts)}"
    remark = (
        f"text with {many} different values: the {len(frequent)} most frequent are categories, and all others (in "
        f"{rest} rows) are one category"
    )
    return Judgement(remark=remark, categories=sorted(frequent), others=True)


def _left_out(name: str, texts: Texts, distinct: bool, asked: bool) -> Judgement:
    many = f"{'more than ' if texts.more else ''}{len(texts.counts)} different texts"
    if asked:
        return Judgement(
            f"Column {name!r} was given with --categorical, and hardly any of its values comes {OFTEN} times ({many}); "
            f"leave it out with --ignore {name!r}, or put fewer values in their place."
        )
    reason = "it has a different text in every row" if distinct else f"hardly any text comes {OFTEN} times ({many})"
    return Judgement(
        remark=f"left out, as {reason}; to use it, put numbers or fewer categories in its place", kept=False
    )


def _about_mixture(name: str, texts: Texts) -> str:
    odd = listed(texts.of(TEXT, DATE, ABSENT), 3)
    return (
        f"Column {name!r} has numbers but for {odd}, too many to take every value as a category. Use --numeric "
        f"{name!r} to count other texts as missing, or leave it out with --ignore {name!r}."
    )


def _about_labels(name: str, texts: Texts) -> str:
    pair = texts.alike()
    return pair and (
        f"The target {name!r} has labels that differ only in case or in spaces at their ends, such as {pair}; write "
        f"them alike, or use --categorical {name!r} to take them as different classes."
    )


def _as_categories(texts: Texts) -> str:
    numbers = texts.number(*WRITTEN_AS_NUMBER)
    share = f", though {numbers / texts.present:.0%} of the values are numbers" if 2 * numbers > texts.present else ""
    pair = texts.alike()
    return CATEGORICAL + share + (pair and f"; {pair} differ only in case or in spaces at their ends")
