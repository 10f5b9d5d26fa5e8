"""Constants of the float formats and fitted polynomials that `expand_math` evaluates.

The fits are Chebyshev expansions computed with 60 digits, except the ones that name a source
or the script that computes them.
"""

from __future__ import annotations

from ted.records import dataclass


@dataclass(frozen=True)
class Format:
    """What the formulas need to know of a float type."""

    mantissa: int
    bias: int
    magic: float  # 1.5 * 2**mantissa: adding it rounds to an integer and leaves that in the bits
    ln2_high: float  # few bits, so that a product with an exponent is exact
    ln2_low: float
    exp_range: tuple[float, float]  # beyond it exp(x)/2 is zero or infinite
    expm1_range: tuple[float, float]
    tiny: float  # least normal number
    sqrt_half: int  # bits of sqrt(1/2)
    # (exp(r) - 1 - r) / r**2 on |r| <= ln(2)/2: test/fitted_polynomials.py
    exp_tail: tuple[float, ...]


F32 = Format(
    mantissa=23,
    bias=127,
    magic=1.5 * 2**23,
    ln2_high=0.693359375,
    ln2_low=-2.12194440e-4,
    exp_range=(-104.0, 90.0),
    expm1_range=(-30.0, 89.0),
    tiny=2.0**-126,
    sqrt_half=0x3F3504F3,
    exp_tail=(
        0.5000000095698922, 0.16666518306087016, 0.04166620414271038, 0.008368953506451426,
        0.0013950602101339801,
    ),
)  # fmt: skip

F64 = Format(
    mantissa=52,
    bias=1023,
    magic=1.5 * 2**52,
    ln2_high=6.93147180369123816490e-01,
    ln2_low=1.90821492927058770002e-10,
    exp_range=(-746.0, 711.0),
    expm1_range=(-50.0, 710.0),
    tiny=2.0**-1022,
    sqrt_half=0x3FE6A09E667F3BCD,
    exp_tail=(
        0.5000000000000013, 0.166666666666667, 0.04166666666651432, 0.008333333333307017,
        0.0013888888947331144, 0.00019841269917793186, 2.4801489590594495e-05,
        2.7557215932063173e-06, 2.76314137965381e-07, 2.5117978771424758e-08,
    ),
)  # fmt: skip

# (log(1 + f) - f) / f**2 on sqrt(1/2) <= 1 + f <= sqrt(2): test/fitted_polynomials.py.
LOG_F32 = (
    -0.49999989157521874, 0.33333308292204994, -0.25001522041640356, 0.20003015624924553,
    -0.1661115051104087, 0.14163468630496734, -0.1320879356340766, 0.13004835160530837,
    -0.07823386293559652,
)  # fmt: skip

# With s = f / (2 + f): log(1 + f) = f - f*f/2 + s * (f*f/2 + z * P(z)), z = s*s.
# Source: Sun Microsystems, FDLIBM, e_log.c.
LOG_F64 = (
    6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
    2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
    1.479819860511658591e-01,
)  # fmt: skip

# erf(x) / x as a polynomial in x*x on |x| <= 1: test/fitted_polynomials.py.
ERF_SMALL = (
    1.1283791670955126, -0.3761263890318355, 0.11283791670945252, -0.026866170643276035,
    0.005223977607422282, -0.0008548325989653091, 0.00012055295319520376, -1.4924744650013843e-05,
    1.6447517569852925e-06, -1.6209175451683756e-07, 1.3722975632441485e-08, -7.801189862352844e-10,
)  # fmt: skip

# sqrt(erfc(x)) as a polynomial in x - 3, which is exact, on 0.99 <= x <= 5.93, with the weight of
# what its square errs: test/fitted_polynomials.py.
ERF_FAR_CENTRE, ERF_FAR_END = 3.0, 5.93
ERF_FAR = (
    0.004700052871892282, -0.014813987814852055, 0.021096030860398438, -0.017453839771054008,
    0.008748139052280455, -0.0022280753269047476, -0.00018199069087200382, 0.0003638954116639016,
    -0.00011380389034563147, -2.137368268902633e-07, 1.0812395739449329e-05,
    -2.918808808377592e-06, -1.333193328588587e-07, 2.461154980461677e-07, -4.351328005890226e-08,
    -7.135908083852881e-09, 3.970236920641448e-09, -2.9331647559262025e-10,
    -1.666810149866719e-10, 4.126974101481994e-11, 2.2451668191503584e-12,
    -2.2128416028688556e-12, 1.5389843408799123e-13, 6.934056748480733e-14,
    -1.0132449268364238e-14, -1.0869233013773722e-15, 2.2155095262686372e-16,
)  # fmt: skip

# erfc(x) * exp(x*x) * (1 + 2*x) as a polynomial in (x - 3) / (x + 3) on 1/2 <= x <= 28.
ERFC_SCALED = (
    1.2530080582697296, -0.1356211061245812, -0.0475622943534507, 0.12964515870276203,
    -0.11927366341531179, 0.06830802734394434, -0.02377051491853638, 0.002529391816335117,
    0.0018886903564002055, -0.0007798322714918795, -0.00010515976008945177,
    0.00012509932758636072, 4.9491714476033325e-06, -2.0100376113106087e-05,
    -7.300550882569987e-07, 3.471616676593574e-06, 3.52693258412998e-07,
    -6.146346341425417e-07, -1.3432312409451292e-07, 9.877438074940672e-08,
    3.42329907978226e-08, -1.0659628807393203e-08, -4.325370719107278e-09,
)  # fmt: skip
