"""Every public estimator with its options, and the kinds of data that it may meet."""

from collections.abc import Callable
from dataclasses import dataclass, field

from .posterior_draws import CONDITIONAL, no_such_sample

LAYOUTS = ["C", "F", "float32", "csr", "csc", "csr32", "frame", "memmap"]

DATA = {
    "shape": ["tall", "wide", "tiny"],
    "weight": ["none", "random", "zeros", "wide"],
    "offset": ["none", "1", "1e3", "1e6"],
    "columns": ["plain", "constant", "zero", "duplicated", "shifted"],
    "scale": ["1", "1e6", "1e-6", "mixed"],
}
LABELLED = {**DATA, "layout": LAYOUTS, "classes": [2, 3, 5, 20], "labels": ["int", "str"], "separable": [False, True]}
REAL = {**DATA, "layout": LAYOUTS, "unit": ["1", "1e6", "1e-6"], "separable": [False]}

# Selectors of features, of labels or (no classes) numbers; the shape "tiny" has too few samples to be halved.
SELECTED = {
    "shape": ["tall", "wide"],
    "classes": [0, 2, 3],
    "unit": ["1", "1e6", "1e-6"],
    "targets": [1],
    "estimator": ["none", "path", "weights"],
}

GROUPS = ["none", "features", "labels", "sparse features", "sparse labels with factors"]
BASES = ["linear", "quadratic", "rbf", "poly", "precomputed"]
MORE_BASES = [*BASES, "laplacian"]
KERNELS = [*MORE_BASES[2:], "given centres"]
SOFTMAX = {
    "basis": [*BASES, "given centres"],
    "parametrization": ["symmetric", "reference"],
    "penalty_factor": ["none", "zeros and twos", "each weight"],
    "class_weight": ["none", "balanced", "dict"],
    "fit_intercept": [True, False],
    "standardize": [True, False],
}


@dataclass(frozen=True)
class Table:
    """The options of a model: names of constructor parameters, and of the data, with their values."""

    model: str
    factors: dict
    judge: str
    fixed: dict = field(default_factory=dict)
    limits: dict = field(default_factory=dict)  # max_iter by solver: a fit that it ends says so, and is judged as well
    refused: Callable = lambda row: False
    title: str = ""  # where a model has several tables

    @property
    def name(self):
        """The title, or the model's name."""
        return self.title or self.model


def no_precomputed_tables(row):
    """A precomputed kernel is a dense square array."""
    return row["basis"] == "precomputed" and row["layout"] not in ("C", "F", "float32")


def no_dask_kernels(row):
    """Rows of a Dask collection stay where they are: columns that need other rows are refused there."""
    return row["layout"] == "dask" and (
        row["basis"] not in ("linear", "quadratic", "given centres")
        or row.get("solver", "auto") not in ("auto", "newton", "fixed-point")
    )


def no_host_solvers(row):
    """On a device only the solvers that need nothing but products with X."""
    return row["layout"] == "strict" and row["solver"] not in ("auto", "fixed-point")


def large(row):
    """Products of many columns, or twenty classes of many columns, take seconds: not in these tests."""
    return row["basis"] != "linear" and (
        row.get("classes") == 20 or (row["basis"], row["shape"]) == ("quadratic", "wide")
    )


def other_columns(row):
    """Penalty factors belong to columns, and those of a kernel are other ones for other rows."""
    return row["basis"] in KERNELS and row["penalty_factor"] != "none"


def all_weights_at_once(row):
    """Hundreds of weights in a model, each step the cube of their number, take many seconds: not in these tests."""
    together = row["classes"] == 5 and row["multiclass"] == "multinomial" and row["algorithm"] == "original"
    return together and row["shape"] != "tiny" and (row["basis"] != "linear" or row["shape"] == "wide")


def no_such_groups(row):
    """Groups are known to the Newton solver; weights of one share a penalty, which factors may not undo."""
    kind, factor = row["groups"], row["penalty_factor"]
    other = row.get("solver", "auto") not in ("auto", "newton", "fixed-point")
    undone = factor == "each weight" if "features" in kind else factor != "none" and "factors" not in kind
    return kind != "none" and (other or undone)


def no_em(row):
    """EM has one target, and an L1 term on every weight."""
    more = row["targets"] > 1 or row["l2"] > 0 or row["groups"] != "none" or row["penalty_factor"] == "zeros and twos"
    return row["solver"] == "em" and more


def refuse(*rules):
    """A row that any of the rules refuses."""
    return lambda row: any(rule(row) for rule in rules)


SMLR_RULES = refuse(no_precomputed_tables, no_dask_kernels, large)
WITH_DASK = {"layout": [*LAYOUTS, "dask"]}
WITH_DEVICE = {"layout": [*LAYOUTS, "strict"]}
ANYWHERE = {"layout": [*LAYOUTS, "dask", "strict"]}

TABLES = [
    Table(
        "SMLR",
        {
            **LABELLED,
            **ANYWHERE,
            **SOFTMAX,
            "lam": [0.01, 1.0, 30.0],
            "l2": [0.0, 0.5],
            "solver": ["auto", "component-wise", "component-wise-greedy", "bound"],
            "warm_start": [False, True],
            "groups": GROUPS,
        },
        "softmax",
        limits={"component-wise": 1000, "component-wise-greedy": 300, "bound": 300},
        refused=refuse(
            SMLR_RULES,
            no_host_solvers,
            lambda row: row["solver"] != "auto" and (row["classes"] == 20 or row["lam"] < 1),  # first order: slow
            lambda row: row["warm_start"] and other_columns(row),
            no_such_groups,
            lambda row: row["warm_start"] and "labels" in row["groups"] and row["basis"] not in ("linear", "quadratic"),
        ),
    ),
    Table(
        "RMLR",
        {
            **LABELLED,
            **WITH_DASK,
            **SOFTMAX,
            "lam": [0.01, 1.0, "evidence"],
            "warm_start": [False, True],
        },
        "ridge",
        refused=refuse(
            SMLR_RULES,
            lambda row: row["lam"] == "evidence" and row["classes"] == 20,  # slow
            lambda row: row["warm_start"] and other_columns(row),
        ),
    ),
    Table(
        "SMLRCV",
        {
            **LABELLED,
            **WITH_DASK,
            **SOFTMAX,
            "basis": [*MORE_BASES, "given centres"],
            "l2": [0.0, 0.5, "two"],
            "rule": ["min", "1se"],
            "scoring": [None, "accuracy"],
            "relax": [False, True],
            "groups": GROUPS,
        },
        "searched",
        fixed={"lams": 8, "cv": 2},
        refused=refuse(
            SMLR_RULES,
            lambda row: row["relax"] and row["basis"] in KERNELS,
            lambda row: row["layout"] == "dask" and row["scoring"] is not None,  # only sums over rows
            other_columns,
            lambda row: row["classes"] == 20,
            no_such_groups,
            lambda row: "labels" in row["groups"] and row["basis"] not in ("linear", "quadratic"),  # other columns
        ),
    ),
    Table(
        "SBMLR",
        {
            **LABELLED,
            **WITH_DASK,
            **SOFTMAX,
            "solver": ["fixed-point", "component-wise"],
            "n_init": [1, 3],
            "groups": GROUPS,
        },
        "softmax",
        limits={"component-wise": 300},
        refused=refuse(
            SMLR_RULES,
            lambda row: row["solver"] == "component-wise" and row["classes"] == 20,
            no_such_groups,
            lambda row: row["groups"] != "none" and row["layout"] == "dask",  # in test_dask.py
            lambda row: row["n_init"] > 1 and "sparse" in row["groups"],  # no evidence to choose by
        ),
    ),
    Table(
        "path",
        {**LABELLED, **WITH_DASK, **SOFTMAX, "l2": [0.0, 0.5], "groups": GROUPS},
        "path",
        fixed={"lams": 8},
        refused=refuse(
            SMLR_RULES,
            no_such_groups,
            lambda row: row["layout"] in ("float32", "csr32") and row["basis"] != "linear",
            lambda row: row["classes"] == 20 and row["offset"] == "1e6",  # many fits of many free weights: seconds each
        ),
    ),
    Table(
        "LaplaceRegressor",
        {
            **REAL,
            "targets": [1, 3],
            "basis": MORE_BASES,
            "lam": ["universal", 3.0],
            "noise": ["learn", 0.5],
            "solver": ["newton", "em"],
            "fit_intercept": [True, False],
            "standardize": [True, False],
            "l2": [0.0, 0.5],
            "penalty_factor": ["none", "zeros and twos", "each weight"],
            "groups": GROUPS,
        },
        "lasso",
        refused=refuse(
            SMLR_RULES,
            lambda row: row["lam"] == "universal" and not row["standardize"],
            no_such_groups,
            no_em,
        ),
    ),
    Table(
        "LaplaceRegressor",
        {
            **REAL,
            "layout": ["operator"],
            "targets": [1, 3],
            "basis": ["linear"],
            "lam": ["universal", 3.0],
            "noise": ["learn", 0.5],
            "solver": ["newton", "em"],
            "fit_intercept": [True, False],
            "standardize": [True, False],
            "l2": [0.0, 0.5],
            "penalty_factor": ["none", "zeros and twos", "each weight"],
            "groups": GROUPS,
        },
        "lasso",
        refused=refuse(lambda row: row["lam"] == "universal" and not row["standardize"], no_such_groups, no_em),
        title="LaplaceRegressor on operators",
    ),
    Table(
        "LaplaceRegressorCV",
        {
            **REAL,
            "targets": [1, 3],
            "basis": MORE_BASES,
            "rule": ["min", "1se"],
            "noise": ["learn", 0.5],
            "fit_intercept": [True, False],
            "standardize": [True, False],
            "l2": [0.0, 0.5],
            "penalty_factor": ["none", "zeros and twos", "each weight"],
            "groups": GROUPS,
        },
        "lasso",
        fixed={"lams": 6, "cv": 2},
        refused=refuse(
            SMLR_RULES,
            no_such_groups,
            other_columns,
            lambda row: "labels" in row["groups"] and row["basis"] not in ("linear", "quadratic"),  # other columns
        ),
    ),
    Table(
        "JeffreysRegressor",
        {**REAL, "targets": [1], "basis": BASES, "noise": ["learn", 0.5], "fit_intercept": [True, False]},
        "jeffreys",
        refused=SMLR_RULES,
    ),
    Table(
        "JeffreysClassifier",
        {**LABELLED, "basis": BASES, "class_weight": ["none", "balanced", "dict"], "fit_intercept": [True, False]},
        "probit",
        fixed={"max_iter": 300},
        refused=SMLR_RULES,
    ),
    Table(
        "TypeIIRegressor",
        {
            **REAL,
            **WITH_DEVICE,
            "targets": [1, 3],
            "basis": BASES,
            "algorithm": ["auto", "fast", "em", "mackay", "reweighted-l2", "reweighted-l1"],
            "noise": ["learn", 0.5],
            "outside": ["warn", "error", "widen", "ignore"],  # of the prediction
            "fit_intercept": [True, False],
        },
        "evidence",
        fixed={"max_iter": 100},
        refused=SMLR_RULES,
    ),
    Table(
        "TypeIIRegressor",
        {
            **REAL,
            "layout": ["C", "F", "operator"],
            "targets": [1, 3],
            "basis": ["linear"],
            "algorithm": ["auto"],
            "noise": ["learn", 0.5],
            "blocks": ["none", "single", "pairs", "apart"],
            "complex": [False, True],
            "em_steps": [None, 3],
            "fit_intercept": [True, False],
        },
        "evidence",
        fixed={"max_iter": 100},
        refused=lambda row: row["em_steps"] is not None and row["noise"] == "learn",
        title="TypeIIRegressor on operators, groups and complex numbers",
    ),
    Table(
        "RVMRegressor",
        {
            **REAL,
            **WITH_DEVICE,
            "targets": [1, 3],
            "basis": MORE_BASES,
            "algorithm": ["fast", "original"],
            "noise": ["learn", 0.5],
            "outside": ["warn", "error", "widen", "ignore"],  # of the prediction
            "fit_intercept": [True, False],
        },
        "evidence",
        fixed={"max_iter": 300},
        refused=SMLR_RULES,
    ),
    Table(
        "RVMRegressor",
        {**REAL, "targets": [1, 3], "basis": ["few centres"], "noise": ["learn", 0.5], "fit_intercept": [True, False]},
        "evidence",
        fixed={"max_iter": 300},
        refused=SMLR_RULES,
    ),
    Table(
        "TypeIRegressor",
        {
            **REAL,
            "targets": [1, 3],
            "basis": BASES,
            "prior": ["laplace", "gaussian", "jeffreys", "student", "lp"],
            "noise": ["learn", 0.5],
            "fit_intercept": [True, False],
        },
        "type_one",
        refused=SMLR_RULES,
    ),
    Table(
        "TypeIRegressor",
        {
            **REAL,
            "layout": ["operator"],
            "targets": [1, 3],
            "basis": ["linear"],
            "prior": ["laplace", "gaussian", "jeffreys", "student", "lp"],
            "noise": ["learn", 0.5],
            "fit_intercept": [True, False],
        },
        "type_one",
        refused=lambda row: row["prior"] == "laplace" and row["targets"] > 1,
        title="TypeIRegressor on operators",
    ),
    Table(
        "RVMClassifier",
        {
            **LABELLED,
            **WITH_DEVICE,
            "basis": BASES,
            "algorithm": ["fast", "original"],
            "multiclass": ["multinomial", "ovr"],
            "moderate": [True, False],
            "class_weight": ["none", "balanced", "dict"],
            "fit_intercept": [True, False],
        },
        "relevance",
        fixed={"max_iter": 40},
        refused=refuse(SMLR_RULES, lambda row: row["classes"] == 20, all_weights_at_once),
    ),
    Table(
        "RVMClassifier",
        {
            **LABELLED,
            "classes": [2, 3],
            "basis": ["few centres"],
            "multiclass": ["multinomial", "ovr"],
            "moderate": [True],
            "class_weight": ["none"],
            "fit_intercept": [True, False],
        },
        "relevance",
        fixed={"max_iter": 40},
        refused=SMLR_RULES,
    ),
    Table(
        "TypeIIClassifier",
        {
            **LABELLED,
            "basis": BASES,
            "alpha": [None, (0.1, 0.1)],
            "class_weight": ["none", "balanced", "dict"],
            "fit_intercept": [True, False],
        },
        "dual_space",
        fixed={"max_iter": 20},
        refused=refuse(
            SMLR_RULES,
            lambda row: row["classes"] == 20 and row["shape"] == "wide",
            # Tens of L1 fits, each of which takes seconds there: the table of SMLR has single ones.
            lambda row: row["offset"] == "1e6" and row["classes"] > 2 and row["shape"] != "tiny",
        ),
    ),
    Table(
        "LRVM",
        {
            **LABELLED,
            "basis": BASES,
            "lam": ["cv", 1.0],
            "rule": ["min", "1se"],
            "scoring": ["log-loss", "accuracy"],
            "multiclass": ["multinomial", "ovr"],
            "class_weight": ["none", "balanced", "dict"],
            "fit_intercept": [True, False],
            "standardize": [True, False],
            "shortlist": [True, False],
        },
        "boosted",
        fixed={"cv": 2, "max_iter": 300},
        refused=refuse(SMLR_RULES, lambda row: row["classes"] == 20),
    ),
    Table(
        "JFSCL",
        {
            **LABELLED,
            "layout": ["C", "F", "float32", "frame", "memmap"],
            "lam": ["cv", 1.0],
            "rule": ["min", "1se"],
            "multiclass": ["multinomial", "ovr"],
            "class_weight": ["none", "balanced", "dict"],
            "fit_intercept": [True, False],
            "standardize": [True, False],
            "shortlist": [True, False],
        },
        "gated",
        fixed={"cv": 2, "max_iter": 100},
        refused=lambda row: row["classes"] == 20,
    ),
    Table(
        "JCFO",
        {
            **LABELLED,
            "basis": ["rbf", "poly"],
            "lam": [0.3, 3.0],
            "lam_theta": [0.3, 100.0],
            "class_weight": ["none", "balanced", "dict"],
            "fit_intercept": [True, False],
            "standardize": [True, False],
        },
        "scaled",
        fixed={"max_iter": 20},
        refused=refuse(lambda row: row["classes"] == 20),
    ),
    Table(
        "StabilitySelection",  # offsets of 1e6 with groups take seconds
        {
            **LABELLED,
            **SELECTED,
            "estimator": [*SELECTED["estimator"], "groups"],  # of columns, which are then the features
            "together": [False, True],  # samples in groups that are halved whole
            "n_selected": [1, 2],
            "threshold": [0.6, 0.75, 0.9],
            "bound": ["unimodal", "worst-case", "r-concave", "meinshausen-buehlmann"],
            "random_state": [0, 1],
        },
        "stability",
        fixed={"n_pairs": 3, "max_false": None},
        refused=lambda row: row["estimator"] == "groups" and row["offset"] == "1e6",
    ),
    Table(
        "Knockoffs",
        {
            **LABELLED,
            **SELECTED,
            "layout": ["C", "F", "float32", "frame", "memmap"],
            "fdr": [0.2, 0.5],
            "n_copies": [1, 3],
            "statistic": ["weight", "entry"],
            "construction": ["mvr", "equicorrelated"],
            "plus": [True, False],
            "random_state": [0, 1],
        },
        "knockoffs",
        refused=refuse(
            lambda row: row["statistic"] == "entry" and row["estimator"] == "weights",  # which has no path
            lambda row: row["n_copies"] > 1 and not row["plus"],
        ),
    ),
    Table(
        "debiased",
        {
            **LABELLED,
            **SELECTED,
            "estimator": ["none", "path", "free"],  # free: the model does not penalise the first column
            "level": [0.5, 0.95],
            "intervals": ["auto", "anyway"],
            "p_values": ["auto", "debiased", "multi-split"],
            "random_state": [0, 1],
        },
        "debiased",
        fixed={"n_splits": 20},
        # With offsets of 1e6, or of 1e3 and a free column, most splits are separated, which takes seconds to find out.
        refused=refuse(
            lambda row: row["offset"] == "1e6",
            lambda row: row["estimator"] == "free" and (row["classes"] == 0 or row["offset"] == "1e3"),
        ),
    ),
    Table(
        "sample_posterior",  # 20 draws of two chains: what follows from each draw, not whether the chains have settled
        {
            **LABELLED,
            "classes": [0, 2, 3, 5],
            "unit": ["1", "1e6", "1e-6"],
            "targets": [1],
            "estimator": ["l1", "known noise", "ridge", "sbmlr", *CONDITIONAL],
            "prior": [None, "horseshoe"],
            "rate": ["fixed", "learn"],
            **{name: SOFTMAX[name] for name in ("parametrization", "class_weight", "fit_intercept", "standardize")},
            "penalty_factor": ["none", "zeros and twos", "each weight"],
            "n_jobs": [None, 2],
            "random_state": [0, 1],
        },
        "posterior",
        fixed={"draws": 20, "chains": 2},
        refused=refuse(no_such_sample, lambda row: row["penalty_factor"] == "each weight" and not row["classes"]),
    ),
    Table(
        "CredibleSets",  # of numbers or classes; there is no offset
        {
            **LABELLED,
            **{name: SELECTED[name] for name in ("classes", "unit", "targets")},
            "offset": ["none"],
            "n_effects": [1, 3],
            "level": [0.8, 0.95],
            "min_purity": [0.0, 0.5, 0.9],
            "prior_variance": ["learn", 0.5],
            "prior_inclusion": ["none", "weights"],
            "noise": ["learn", 0.5],
            "method": ["laplace", "variational"],
        },
        "effect_sets",
        fixed={"max_iter": 300},
        refused=lambda row: row["method"] == "variational" and row["classes"] == 3,
    ),
]
