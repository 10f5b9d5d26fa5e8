"""Fourier transforms, `ted.fft`, by the names of `numpy.fft`: of any length, as expressions.

They take complex and real tensors and arrays, and are differentiated, batched and compiled as the
contractions that they are.
"""

from ted.fft.grids import (
    fft2,
    fftfreq,
    fftn,
    fftshift,
    ifft2,
    ifftn,
    ifftshift,
    irfft2,
    irfftn,
    rfft2,
    rfftfreq,
    rfftn,
)
from ted.fft.transforms import fft, hfft, ifft, ihfft, irfft, rfft
from ted.frontend.keywords import accepting

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

for _name in __all__:  # other libraries' keywords are accepted, as in `ted`
    globals()[_name] = accepting(globals()[_name], __name__, _name, takes_complex=True)
