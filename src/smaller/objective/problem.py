"""A problem: data, likelihood and prior; its objective is the negative log posterior."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from .posterior import Posterior
from .sample import Sample


@dataclass(frozen=True, eq=False)
class Problem:
    """What a solver solves: data, a likelihood of scores and a prior of weights."""

    sample: Sample
    likelihood: Any
    prior: Any

    def with_prior(self, prior) -> Problem:
        """The same data under another prior."""
        return replace(self, prior=prior)

    def with_strength(self, lam: float) -> Problem:
        """The same data under a prior of this strength."""
        return self.with_prior(self.prior.with_strength(lam))

    @cached_property
    def objective(self) -> Posterior:
        """The negative log posterior, evaluated where the rows are."""
        return (self.sample.posterior or Posterior).of(self.sample, self.likelihood, self.prior)
