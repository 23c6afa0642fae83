"""One adapter, one solver. An adapter is any class with

name                    as printed
available()             its version, "" when it is not installed (and does not import it: workers do)
supports(problem)       whether it solves this very objective
grouped                 optional: True where it also has norms of groups (problem.grouped): of rows for several classes,
                        of columns for two
ladder()                tolerances, from loose to tight
prepare(problem)        keep the data in the solver's favourite layout; not timed
fit(lam, tol)           W at one lam, (p, n_classes), or (p,) for two classes; timed
path(lams, tol)         optional: one W per lam of a decreasing grid; timed
unpack(found)           optional: makes those W of what path returned; not timed
seconds                 optional: (processor, wall clock) of the last call, where another process did the work
"""

from importlib import metadata

import numpy as np


def installed(distribution):
    """The version of an installed distribution, "" if there is none."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def decades(start, stop, per_decade=2):
    """Tolerances from 10**start down to 10**stop."""
    return np.logspace(start, stop, (start - stop) * per_decade + 1).tolist()


def adapters():
    """Every adapter, ours first."""
    from . import (
        adelie,
        blitz,
        celer,
        cyanure,
        glmstar,
        glum,
        ours,
        pycasso,
        r_glmnet,
        skein,
        skglm,
        sklearn_liblinear,
        sklearn_newton,
        sklearn_saga,
        snapml,
    )

    return [
        ours.Ours,
        glmstar.Glmstar,
        glmstar.GlmstarPath,
        r_glmnet.RGlmnet,
        r_glmnet.RGlmnetPath,
        sklearn_saga.Saga,
        sklearn_liblinear.Liblinear,
        sklearn_newton.NewtonCD,
        sklearn_newton.NewtonCDGram,
        skglm.Skglm,
        celer.Celer,
        blitz.Blitz,
        glum.Glum,
        adelie.Adelie,
        adelie.AdeliePath,
        skein.Skein,
        cyanure.Cyanure,
        pycasso.Pycasso,
        snapml.SnapML,
    ]
