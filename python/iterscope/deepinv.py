"""DeepInv's operators and denoisers as iterscope's.

DeepInv itself is not imported: any object with the same methods will do. Devices, dtypes and the
global random numbers are the wrapped object's own business.
"""

from __future__ import annotations

from typing import Any

import torch

from iterscope.denoisers import Denoiser
from iterscope.physics import LinearPhysics


class DeepInvPhysics(LinearPhysics):
    """A ``deepinv.physics.LinearPhysics`` (``A``, ``A_adjoint``), stacked or not.

    Its pseudo-inverse is iterscope's, by conjugate gradients with steps of their own for every
    image of a batch; its norm is found by iterscope too.
    """

    def __init__(self, physics: Any) -> None:
        super().__init__()
        self.physics = physics
        operators = getattr(physics, "physics_list", None)
        self._count = None if operators is None else len(operators)

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        """Apply ``A``."""
        y = self.physics.A(x)
        return [y] if self._count is None else list(y)

    def adjoint(self, y: list[torch.Tensor]) -> torch.Tensor:
        """Apply ``A_adjoint``."""
        result: torch.Tensor = self.physics.A_adjoint(y[0] if self._count is None else y)
        return result

    def measurement_count(self) -> int:
        """Count the stacked operators."""
        return self._count or 1

    def __reduce__(self) -> tuple[type[DeepInvPhysics], tuple[Any]]:
        """Pickle and copy as what it was made of."""
        return type(self), (self.physics,)


class DeepInvDenoiser(Denoiser):
    """A ``deepinv.models.Denoiser``, called as ``denoiser(x, sigma)``."""

    def __init__(self, denoiser: Any) -> None:
        super().__init__()
        self.denoiser = denoiser

    def denoise(self, x: torch.Tensor, sigma: float) -> torch.Tensor:
        """Call the denoiser without recording gradients, unless the input asks for them."""
        with torch.set_grad_enabled(torch.is_grad_enabled() and x.requires_grad):
            result: torch.Tensor = self.denoiser(x, sigma)
        return result

    def reset(self) -> None:
        """Make a denoiser with a warm start (DeepInv's TV) begin anew."""
        if hasattr(self.denoiser, "restart"):
            self.denoiser.restart = True

    def __reduce__(self) -> tuple[type[DeepInvDenoiser], tuple[Any]]:
        """Pickle and copy as what it was made of."""
        return type(self), (self.denoiser,)


def wrap_physics(physics: Any) -> LinearPhysics:
    """Make a DeepInv operator usable by iterscope's solvers; an iterscope one comes back as it is.

    Raises ``TypeError`` for an object without ``A`` and ``A_adjoint``: only linear operators fit.
    """
    if isinstance(physics, LinearPhysics):
        return physics
    if not (hasattr(physics, "A") and hasattr(physics, "A_adjoint")):
        raise TypeError(
            f"{type(physics).__name__} has no A or no A_adjoint (iterscope's solvers need a linear "
            "operator); give a deepinv.physics.LinearPhysics"
        )
    return DeepInvPhysics(physics)


def wrap_denoiser(denoiser: Any) -> Denoiser:
    """Make a DeepInv denoiser usable by iterscope's solvers.

    An iterscope one comes back as it is.
    """
    if isinstance(denoiser, Denoiser):
        return denoiser
    if not callable(denoiser):
        raise TypeError(
            f"{type(denoiser).__name__} cannot be called; give a denoiser that is called as "
            "denoiser(x, sigma)"
        )
    return DeepInvDenoiser(denoiser)
