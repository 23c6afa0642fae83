"""What stability selection and knockoffs claim after a fit: numbers that follow from others by their definitions."""

import numpy as np

SLACK = 1e-9


def varying(X):
    """Columns that are not constant, the first of each set of copies (up to sign, scale and shift) only."""
    kept = [j for j in range(X.shape[1]) if np.ptp(X[:, j]) > 0]
    Z = X[:, kept] / np.abs(X[:, kept]).max(axis=0)  # their squares may not underflow
    Z = Z - Z.mean(axis=0)
    R = np.abs((Z / np.sqrt((Z**2).sum(axis=0))).T @ (Z / np.sqrt((Z**2).sum(axis=0))))
    return [kept[j] for j in range(len(kept)) if not (R[j, :j] > 1 - 1e-9).any()]


def _distinct(model, row, data):
    """Complaints about the columns that the model compares: those of the data, each of the copies' sets once."""
    copies = [np.asarray(each).tolist() for each in model.copies_]
    behind = {j for each in copies for j in each[1:]}
    leaders = [j for j in range(data.plain.shape[1]) if j not in behind and np.ptp(data.plain[:, j]) > 0]
    told = [] if model.n_distinct_ == len(leaders) else [f"n_distinct_ is {model.n_distinct_}, not {len(leaders)}"]
    single = row["layout"] in ("float32", "csr32")  # where rounding makes copies differ
    if not single and leaders != varying(data.plain):
        told.append(f"copies_ leaves the columns {leaders}, not {varying(data.plain)}")
    return leaders, copies, told


def _groups(model, labels):
    """Complaints about groups of columns as features: all columns of a group go together, and groups are counted."""
    known, leaders = np.unique(labels, return_index=True)
    members = [np.flatnonzero(labels == label).tolist() for label in known]
    kept = [label for label, each in zip(known, members, strict=True) if np.isin(each, model.support_).all()]
    told = [] if model.n_distinct_ == len(known) else [f"n_distinct_ is {model.n_distinct_}, not {len(known)}"]
    if kept != model.group_support_.tolist():
        told.append(f"group_support_ is {model.group_support_.tolist()}, not {kept}")
    return leaders.tolist(), members, told


def bound(kind, p, q, tau, B):
    """Shah & Samworth (2013) without assumptions and under unimodality; None for r-concave, without a closed form."""
    if kind == "r-concave":
        return None
    if kind != "unimodal":
        return q * q / p / (2 * tau - 1)
    return q * q / p * (0.5 / (2 * tau - 1 - 0.5 / B) if tau <= 0.75 else 4 * (1 - tau + 0.5 / B) / (1 + 1 / B))


def stability(model, row, data, given):
    """StabilitySelection: frequencies, threshold, support and bound."""
    grouped = row["estimator"] == "groups"
    found = _groups(model, given["estimator"].groups) if grouped else _distinct(model, row, data)
    leaders, copies, told = found
    B, entered = given["n_pairs"], model.entries_.toarray() > 0
    tau = np.ceil(2 * B * given["threshold"] - SLACK) / (2 * B)
    if not np.array_equal(model.frequencies_, entered.mean(axis=0)) or len(entered) != 2 * B:
        told.append("frequencies_ are not those of entries_")
    if not np.array_equal(model.n_entered_, entered[:, leaders].sum(axis=1)):
        told.append("n_entered_ does not count entries_")
    if (entered[:, leaders].sum(axis=1) > given["n_selected"]).any() and row["estimator"] == "weights":
        told.append("more features than n_selected on a half")
    if any(np.ptp(model.frequencies_[each]) for each in copies):
        told.append("copies, or columns of a group, have different frequencies")
    if abs(model.threshold_ - tau) > SLACK or model.n_selected_ != given["n_selected"]:
        told.append(f"threshold_ is {model.threshold_}, not {tau}, or n_selected_ {model.n_selected_}")
    if not np.array_equal(model.support_, np.flatnonzero(model.frequencies_ >= tau - SLACK)):
        told.append("support_ is not what reaches the threshold")
    expected = bound(given["bound"], len(leaders), given["n_selected"], tau, B)
    if expected is None:  # with few pairs it may know nothing, and is then the number of all features
        if not 0 < model.expected_false_ <= len(leaders) * (1 + SLACK):
            told.append(f"expected_false_ is {model.expected_false_}, of {len(leaders)} features")
    elif abs(model.expected_false_ - expected) > SLACK * expected:
        told.append(f"expected_false_ is {model.expected_false_}, not {expected}")
    return told


def _threshold(W, fdr, plus):
    """The smallest t at which at most a share fdr of the features is estimated to be false, by trying all."""
    for t in sorted(set(np.abs(W[W != 0]))):
        if (plus + (-t >= W).sum()) / max(1, (t <= W).sum()) <= fdr * (1 + 1e-12):
            return t
    return np.inf


def knockoffs(model, row, data, given):
    """Knockoffs: thresholds, e-values and support from the statistics, which are finite."""
    leaders, copies, told = _distinct(model, row, data)
    W, M, p = model.statistics_[:, leaders], given["n_copies"], len(leaders)
    if W.shape[0] != M or not np.isfinite(W).all():
        told.append("statistics_ are not finite")
    rate = given["fdr"] / (1 if M == 1 else 2)
    T = np.array([_threshold(each, rate, given["plus"]) for each in W])
    e = np.mean([p * (each >= t) / (1 + (each <= -t).sum()) for each, t in zip(W, T, strict=True)], axis=0)
    if not np.array_equal(T, model.thresholds_):
        told.append(f"thresholds_ are {model.thresholds_}, not {T}")
    if given["plus"] and np.abs(model.e_values_[leaders] - e).max() > SLACK:
        told.append("e_values_ are not those of the statistics")
    counts = [k for k in range(1, p + 1) if np.sort(e)[-k] * given["fdr"] * k >= p * (1 - 1e-12)]
    least = np.sort(e)[-max(counts)] if counts else np.inf
    chosen = {j for j, each in zip(leaders, W[0] >= T[0] if M == 1 else e >= least, strict=True) if each}
    chosen |= {j for each in copies if each[0] in chosen for j in each}
    if sorted(chosen) != model.support_.tolist():
        told.append(f"support_ is {model.support_.tolist()}, not {sorted(chosen)}")
    return told
