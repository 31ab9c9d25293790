"""`cupy.random`, made from NumPy's. The numbers are NumPy's for the same seed, not cuRAND's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cutile_sim.standin.cupy.arrays import ndarray, on_host, wrap
from cutile_sim.standin.cupy.missing import missing_attribute

_LEGACY = """
beta binomial chisquare choice dirichlet exponential f gamma geometric gumbel hypergeometric laplace logistic lognormal
logseries multivariate_normal negative_binomial noncentral_chisquare noncentral_f normal pareto permutation poisson
power rand randint randn random random_sample ranf rayleigh sample shuffle standard_cauchy standard_exponential
standard_gamma standard_normal standard_t triangular uniform vonmises wald weibull zipf
"""
_MODERN = """
beta binomial chisquare dirichlet exponential f gamma geometric hypergeometric integers logseries poisson power random
standard_exponential standard_gamma standard_normal uniform
"""
_INTEGER_TYPED = ("randint", "integers")
_OTHER_NAMES = {"ranf": "random_sample", "sample": "random_sample", "random": "random_sample"}


class Generator:
    """Random numbers of NumPy's `Generator`, as arrays on the simulated GPU."""

    def __init__(self, bit_generator: Any) -> None:
        self.bit_generator = bit_generator
        self._generator = np.random.Generator(bit_generator)

    def __getattr__(self, name: str) -> Any:
        if name not in _MODERN.split():
            raise missing_attribute("cupy.random.Generator", name)
        return _drawing(getattr(self._generator, name))


class RandomState:
    """Random numbers of NumPy's `RandomState`, as arrays on the simulated GPU; `dtype` may also be float32."""

    def __init__(self, seed: Any = None, method: Any = None) -> None:
        self._state = np.random.RandomState(seed)

    def seed(self, seed: Any = None) -> None:
        """Start again from a seed."""
        self._state.seed(seed)

    def __getattr__(self, name: str) -> Any:
        if name not in _LEGACY.split():
            raise missing_attribute("cupy.random.RandomState", name)
        function = _drawing(getattr(self._state, _OTHER_NAMES.get(name, name)))
        return function if name in _INTEGER_TYPED else _typed(function)


def _drawing(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return on_host(_arrays_of(function), *args, **kwargs)

    return call


def _arrays_of(function: Callable[..., Any]) -> Callable[..., Any]:
    # A single number is an array of no dimensions too.
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return None if result is None else np.asarray(result)

    return call


def _typed(function: Callable[..., ndarray]) -> Callable[..., ndarray]:
    def call(*args: Any, dtype: Any = None, **kwargs: Any) -> ndarray:
        result = function(*args, **kwargs)
        return result if dtype is None else wrap(result._host.astype(dtype, copy=False))

    return call


def default_rng(seed: Any = None) -> Generator:
    """A generator of random numbers."""
    return seed if isinstance(seed, Generator) else Generator(np.random.default_rng(seed).bit_generator)


_shared_state = RandomState()


def get_random_state() -> RandomState:
    """The generator behind the functions of this module."""
    return _shared_state


def seed(seed: Any = None) -> None:
    """Start the functions of this module again from a seed."""
    _shared_state.seed(seed)


def __getattr__(name: str) -> Any:
    if name in _LEGACY.split():
        return getattr(_shared_state, name)
    raise missing_attribute("cupy.random", name)
