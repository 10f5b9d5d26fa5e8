"""What users write: placeholders, index lambdas and whole-tensor sugar -> tensors of a system.

`ted` publishes these names, each imported as itself; inside the package import them from the module
that defines them.
"""

from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi

from ted.frontend import (
    complex_arrays,  # noqa: F401 (it fills the table of what functions do with complex numbers)
    complex_pairs,
    keywords,
    methods,
)
from ted.frontend.associative import associative_scan as associative_scan
from ted.frontend.axes import reduce_axis as reduce_axis
from ted.frontend.choosing import compress as compress
from ted.frontend.choosing import where as where
from ted.frontend.complex_functions import angle as angle
from ted.frontend.complex_functions import complex as complex
from ted.frontend.complex_functions import imag as imag
from ted.frontend.complex_pairs import Complex as Complex
from ted.frontend.compositions.divisors import gcd as gcd
from ted.frontend.compositions.divisors import lcm as lcm
from ted.frontend.compositions.matrices import average as average
from ted.frontend.compositions.matrices import corrcoef as corrcoef
from ted.frontend.compositions.matrices import cov as cov
from ted.frontend.compositions.matrices import diag as diag
from ted.frontend.compositions.matrices import diagflat as diagflat
from ted.frontend.compositions.matrices import kron as kron
from ted.frontend.compositions.matrices import matvec as matvec
from ted.frontend.compositions.matrices import rot90 as rot90
from ted.frontend.compositions.matrices import vdot as vdot
from ted.frontend.compositions.matrices import vecmat as vecmat
from ted.frontend.compositions.numbers import allclose as allclose
from ted.frontend.compositions.numbers import divmod as divmod
from ted.frontend.compositions.numbers import float_power as float_power
from ted.frontend.compositions.numbers import fmax as fmax
from ted.frontend.compositions.numbers import fmin as fmin
from ted.frontend.compositions.numbers import frexp as frexp
from ted.frontend.compositions.numbers import isclose as isclose
from ted.frontend.compositions.numbers import isneginf as isneginf
from ted.frontend.compositions.numbers import isposinf as isposinf
from ted.frontend.compositions.numbers import logaddexp2 as logaddexp2
from ted.frontend.compositions.numbers import modf as modf
from ted.frontend.compositions.numbers import sinc as sinc
from ted.frontend.compositions.polynomials import poly as poly
from ted.frontend.compositions.polynomials import polyadd as polyadd
from ted.frontend.compositions.polynomials import polyder as polyder
from ted.frontend.compositions.polynomials import polydiv as polydiv
from ted.frontend.compositions.polynomials import polyfit as polyfit
from ted.frontend.compositions.polynomials import polyint as polyint
from ted.frontend.compositions.polynomials import polymul as polymul
from ted.frontend.compositions.polynomials import polysub as polysub
from ted.frontend.compositions.polynomials import polyval as polyval
from ted.frontend.compositions.samples import block as block
from ted.frontend.compositions.samples import ediff1d as ediff1d
from ted.frontend.compositions.samples import interp as interp
from ted.frontend.compositions.samples import lexsort as lexsort
from ted.frontend.compositions.samples import ravel_multi_index as ravel_multi_index
from ted.frontend.compositions.samples import resize as resize
from ted.frontend.compositions.samples import trapezoid as trapezoid
from ted.frontend.compositions.samples import unravel_index as unravel_index
from ted.frontend.compositions.samples import unwrap as unwrap
from ted.frontend.compositions.slopes import gradient as gradient
from ted.frontend.compositions.without_nan import nanargmax as nanargmax
from ted.frontend.compositions.without_nan import nanargmin as nanargmin
from ted.frontend.compositions.without_nan import nancumprod as nancumprod
from ted.frontend.compositions.without_nan import nancumsum as nancumsum
from ted.frontend.compositions.without_nan import nanmax as nanmax
from ted.frontend.compositions.without_nan import nanmean as nanmean
from ted.frontend.compositions.without_nan import nanmedian as nanmedian
from ted.frontend.compositions.without_nan import nanmin as nanmin
from ted.frontend.compositions.without_nan import nanprod as nanprod
from ted.frontend.compositions.without_nan import nanquantile as nanquantile
from ted.frontend.compositions.without_nan import nanstd as nanstd
from ted.frontend.compositions.without_nan import nansum as nansum
from ted.frontend.compositions.without_nan import nanvar as nanvar
from ted.frontend.compute import compute as compute
from ted.frontend.contraction import dot as dot
from ted.frontend.contraction import einsum as einsum
from ted.frontend.contraction import inner as inner
from ted.frontend.contraction import matmul as matmul
from ted.frontend.contraction import outer as outer
from ted.frontend.contraction import tensordot as tensordot
from ted.frontend.contraction import vecdot as vecdot
from ted.frontend.creation import arange as arange
from ted.frontend.creation import empty as empty
from ted.frontend.creation import empty_like as empty_like
from ted.frontend.creation import eye as eye
from ted.frontend.creation import from_dlpack as from_dlpack
from ted.frontend.creation import full as full
from ted.frontend.creation import full_like as full_like
from ted.frontend.creation import linspace as linspace
from ted.frontend.creation import meshgrid as meshgrid
from ted.frontend.creation import one_hot as one_hot
from ted.frontend.creation import ones as ones
from ted.frontend.creation import ones_like as ones_like
from ted.frontend.creation import zeros as zeros
from ted.frontend.creation import zeros_like as zeros_like
from ted.frontend.cumulative import cumprod as cumprod
from ted.frontend.cumulative import cumsum as cumsum
from ted.frontend.debugging import check as check
from ted.frontend.debugging import print as print
from ted.frontend.dims import broadcast_arrays as broadcast_arrays
from ted.frontend.dims import broadcast_shapes as broadcast_shapes
from ted.frontend.dims import column_stack as column_stack
from ted.frontend.dims import diagonal as diagonal
from ted.frontend.dims import hstack as hstack
from ted.frontend.dims import matrix_transpose as matrix_transpose
from ted.frontend.dims import moveaxis as moveaxis
from ted.frontend.dims import trace as trace
from ted.frontend.dims import unstack as unstack
from ted.frontend.dims import vstack as vstack
from ted.frontend.element_types import can_cast as can_cast
from ted.frontend.element_types import finfo as finfo
from ted.frontend.element_types import iinfo as iinfo
from ted.frontend.element_types import isdtype as isdtype
from ted.frontend.element_types import result_type as result_type
from ted.frontend.elementwise import absolute as absolute
from ted.frontend.elementwise import acos as acos
from ted.frontend.elementwise import acosh as acosh
from ted.frontend.elementwise import asin as asin
from ted.frontend.elementwise import asinh as asinh
from ted.frontend.elementwise import atan as atan
from ted.frontend.elementwise import atan2 as atan2
from ted.frontend.elementwise import atanh as atanh
from ted.frontend.elementwise import bitwise_and as bitwise_and
from ted.frontend.elementwise import bitwise_not as bitwise_not
from ted.frontend.elementwise import bitwise_or as bitwise_or
from ted.frontend.elementwise import bitwise_xor as bitwise_xor
from ted.frontend.elementwise import cast as cast
from ted.frontend.elementwise import cbrt as cbrt
from ted.frontend.elementwise import ceil as ceil
from ted.frontend.elementwise import clip as clip
from ted.frontend.elementwise import cos as cos
from ted.frontend.elementwise import cosh as cosh
from ted.frontend.elementwise import erf as erf
from ted.frontend.elementwise import erfc as erfc
from ted.frontend.elementwise import exp as exp
from ted.frontend.elementwise import exp2 as exp2
from ted.frontend.elementwise import expm1 as expm1
from ted.frontend.elementwise import floor as floor
from ted.frontend.elementwise import floor_divide as floor_divide
from ted.frontend.elementwise import fmod as fmod
from ted.frontend.elementwise import hypot as hypot
from ted.frontend.elementwise import isfinite as isfinite
from ted.frontend.elementwise import isinf as isinf
from ted.frontend.elementwise import isnan as isnan
from ted.frontend.elementwise import left_shift as left_shift
from ted.frontend.elementwise import log as log
from ted.frontend.elementwise import log1p as log1p
from ted.frontend.elementwise import log2 as log2
from ted.frontend.elementwise import log10 as log10
from ted.frontend.elementwise import logical_and as logical_and
from ted.frontend.elementwise import logical_not as logical_not
from ted.frontend.elementwise import logical_or as logical_or
from ted.frontend.elementwise import logical_xor as logical_xor
from ted.frontend.elementwise import maximum as maximum
from ted.frontend.elementwise import minimum as minimum
from ted.frontend.elementwise import power as power
from ted.frontend.elementwise import reciprocal as reciprocal
from ted.frontend.elementwise import relu as relu
from ted.frontend.elementwise import remainder as remainder
from ted.frontend.elementwise import right_shift as right_shift
from ted.frontend.elementwise import round as round
from ted.frontend.elementwise import rsqrt as rsqrt
from ted.frontend.elementwise import sigmoid as sigmoid
from ted.frontend.elementwise import sign as sign
from ted.frontend.elementwise import sin as sin
from ted.frontend.elementwise import sinh as sinh
from ted.frontend.elementwise import softplus as softplus
from ted.frontend.elementwise import sqrt as sqrt
from ted.frontend.elementwise import square as square
from ted.frontend.elementwise import stop_gradient as stop_gradient
from ted.frontend.elementwise import tan as tan
from ted.frontend.elementwise import tanh as tanh
from ted.frontend.elementwise import trunc as trunc
from ted.frontend.elementwise import vectorize as vectorize
from ted.frontend.gamma_functions import digamma as digamma
from ted.frontend.gamma_functions import lgamma as lgamma
from ted.frontend.indexing import dynamic_slice as dynamic_slice
from ted.frontend.indexing import take as take
from ted.frontend.indexing import take_along_axis as take_along_axis
from ted.frontend.joining import asarray as asarray
from ted.frontend.joining import concatenate as concatenate
from ted.frontend.joining import stack as stack
from ted.frontend.layout import broadcast_to as broadcast_to
from ted.frontend.layout import expand_dims as expand_dims
from ted.frontend.layout import flatten as flatten
from ted.frontend.layout import flip as flip
from ted.frontend.layout import reshape as reshape
from ted.frontend.layout import roll as roll
from ted.frontend.layout import split as split
from ted.frontend.layout import squeeze as squeeze
from ted.frontend.layout import swapaxes as swapaxes
from ted.frontend.layout import tile as tile
from ted.frontend.layout import transpose as transpose
from ted.frontend.layout import tril as tril
from ted.frontend.layout import triu as triu
from ted.frontend.linear_algebra import cholesky as cholesky
from ted.frontend.linear_algebra import solve_triangular as solve_triangular
from ted.frontend.operators import add as add
from ted.frontend.operators import conj as conj
from ted.frontend.operators import copysign as copysign
from ted.frontend.operators import divide as divide
from ted.frontend.operators import equal as equal
from ted.frontend.operators import greater as greater
from ted.frontend.operators import greater_equal as greater_equal
from ted.frontend.operators import heaviside as heaviside
from ted.frontend.operators import less as less
from ted.frontend.operators import less_equal as less_equal
from ted.frontend.operators import logaddexp as logaddexp
from ted.frontend.operators import multiply as multiply
from ted.frontend.operators import nan_to_num as nan_to_num
from ted.frontend.operators import negative as negative
from ted.frontend.operators import nextafter as nextafter
from ted.frontend.operators import not_equal as not_equal
from ted.frontend.operators import positive as positive
from ted.frontend.operators import real as real
from ted.frontend.operators import signbit as signbit
from ted.frontend.operators import subtract as subtract
from ted.frontend.padding import pad as pad
from ted.frontend.recurrences import recurrence as recurrence
from ted.frontend.reducers import reducer as reducer
from ted.frontend.reductions import all as all
from ted.frontend.reductions import any as any
from ted.frontend.reductions import argmax as argmax
from ted.frontend.reductions import argmin as argmin
from ted.frontend.reductions import logsumexp as logsumexp
from ted.frontend.reductions import max as max
from ted.frontend.reductions import mean as mean
from ted.frontend.reductions import min as min
from ted.frontend.reductions import prod as prod
from ted.frontend.reductions import sum as sum
from ted.frontend.repetition import repeat as repeat
from ted.frontend.scalars import Scalar as Scalar
from ted.frontend.scattering import bincount as bincount
from ted.frontend.scattering import histogram as histogram
from ted.frontend.scattering import histogram2d as histogram2d
from ted.frontend.scattering import histogramdd as histogramdd
from ted.frontend.scattering import index_add as index_add
from ted.frontend.scattering import scatter as scatter
from ted.frontend.scattering import segment_sum as segment_sum
from ted.frontend.searching import isin as isin
from ted.frontend.searching import searchsorted as searchsorted
from ted.frontend.searching import unique as unique
from ted.frontend.sorting import argsort as argsort
from ted.frontend.sorting import median as median
from ted.frontend.sorting import quantile as quantile
from ted.frontend.sorting import sort as sort
from ted.frontend.sorting import topk as topk
from ted.frontend.statistics import count_nonzero as count_nonzero
from ted.frontend.statistics import cumulative_prod as cumulative_prod
from ted.frontend.statistics import cumulative_sum as cumulative_sum
from ted.frontend.statistics import diff as diff
from ted.frontend.statistics import std as std
from ted.frontend.statistics import var as var
from ted.frontend.tensors import Tensor as Tensor
from ted.frontend.tensors import constant as constant
from ted.frontend.tensors import placeholder as placeholder
from ted.frontend.tensors import size as size
from ted.ir import dtypes

float64, float32, float16 = dtypes.FLOAT64, dtypes.FLOAT32, dtypes.FLOAT16
bfloat16, bool = dtypes.BFLOAT16, dtypes.BOOL
int64, int32, int16, int8 = dtypes.INT64, dtypes.INT32, dtypes.INT16, dtypes.INT8
uint64, uint32, uint16, uint8 = dtypes.UINT64, dtypes.UINT32, dtypes.UINT16, dtypes.UINT8
complex64, complex128 = complex_pairs.COMPLEX64, complex_pairs.COMPLEX128
newaxis = None
abs = absolute
concat = concatenate
permute_dims = transpose
pow = power
astype = cast
bitwise_invert = bitwise_not
bitwise_left_shift = left_shift
bitwise_right_shift = right_shift

__all__ = keywords.published(globals(), "ted")
methods.attach({name: globals()[name] for name in __all__})
