"""Which kernels become objects of their own, and what their modules hold."""

from __future__ import annotations

from ted import dialects
from ted.codegen.splitting import ELSEWHERE, LARGE, Part, answer, split
from ted.mlir import ir

SINE = "%x = memref.load %a[%i] : memref<256xf32> %y = math.sin %x : f32"
PRODUCT = """linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
  iterator_types = ["parallel"]} ins(%a : memref<256xf32>) outs(%a : memref<256xf32>)
  attrs = {ted.contraction} { ^bb0(%p: f32, %q: f32): linalg.yield %p : f32 }"""


def kernel(name: str, *lines: str, visibility: str = "private") -> str:
    body = "\n".join(lines)
    return f"func.func {visibility} @{name}(%a: memref<256xf32>, %i: index) {{ {body} return }}\n"


def program(*kernels: str, attributes: str = "") -> str:
    names = [text.split("@")[1].split("(")[0] for text in kernels]
    calls = "\n".join(f"func.call @{n}(%a, %i) : (memref<256xf32>, index) -> ()" for n in names)
    main = kernel("main", calls, visibility="")
    return f"module attributes {{{attributes}}} {{ {''.join(kernels)} {main} }}"


def parts(text: str) -> list[Part]:
    with dialects.session():
        return split(ir.Module.parse(text))


def test_a_contraction_is_an_object_of_its_own() -> None:
    main, product = parts(program(kernel("small", SINE), kernel("large", PRODUCT)))
    assert (main.name, main.is_kernel) == ("main", False)
    assert (product.name, product.is_kernel) == ("large", True)
    assert "ted.contraction" in product.text
    assert "@main" not in product.text
    assert "private @large(memref<256xf32>, index) attributes {ted.elsewhere}" in main.text
    assert "math.sin" in main.text
    assert product.weight >= LARGE


def test_contractions_of_few_points_stay_with_their_call() -> None:
    def product(points: int, count: int = 1) -> str:
        text = kernel(f"x{count}_of_{points}", *[PRODUCT] * count)
        return text.replace("memref<256xf32>", f"memref<{points}xf32>")

    def made(*kernels: str) -> list[str]:
        return [part.name for part in parts("".join(kernels) + "func.func @main() { return }")]

    assert made(product(4), product(100), product(200)) == ["main", "x1_of_200"]
    assert made(product(4, 2), product(100, 2)) == ["main", "x2_of_100"]


def test_many_functions_or_long_bodies_are_as_large() -> None:
    def sines(name: str, count: int) -> str:
        return kernel(
            name, *(SINE.replace("%x", f"%x{k}").replace("%y", f"%y{k}") for k in range(count))
        )

    def loads(name: str, count: int) -> str:
        return kernel(
            name, *(f"%x{k} = memref.load %a[%i] : memref<256xf32>" for k in range(count))
        )

    found = parts(
        program(sines("one", 1), loads("short", 20), sines("five", 5), loads("long", 250))
    )
    assert [part.name for part in found] == ["main", "five", "long"]


def test_a_kernel_that_is_alone_stays_with_its_call() -> None:
    (main,) = parts(program(kernel("large", PRODUCT)))
    assert main.name == "main"
    assert ELSEWHERE not in main.text


def test_a_kernel_takes_along_what_it_uses() -> None:
    constant = 'memref.global "private" constant @table : memref<2xf32> = dense<[1.0, 2.0]>\n'
    other = constant.replace("table", "other")
    reading = kernel("reading", PRODUCT, "%t = memref.get_global @table : memref<2xf32>")
    text = program(reading, kernel("small", SINE))
    text = text.replace("module attributes {} {", f"module {{ {constant} {other}")
    _, large = parts(text)
    assert "@table" in large.text
    assert "@other" not in large.text
    with dialects.session():
        assert ir.Module.parse(large.text).operation.verify()


def test_parts_know_neither_names_nor_places() -> None:
    tables = 'ted.indexed_tensors = ["x"], ted.indexed_places = ["model.py:3"]'
    text = program(kernel("small", SINE), kernel("large", PRODUCT), attributes=tables)
    made = answer(text, "builtin.module()", {}, lambda _: None)
    assert made["indexed"] == [("x", "model.py:3")]
    assert all("model.py" not in part[1] and "loc(" not in part[1] for part in made["parts"])
