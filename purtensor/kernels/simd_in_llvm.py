"""Octets in compiled code: each operation as the vector instructions of LLVM."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, overload, register_model

from purtensor.kernels.simd import WIDTH, distance, eight, larger, load, quotient, store

_VECTOR = ir.VectorType(ir.DoubleType(), WIDTH)
_NUMBER_BYTES = 8

_Type: Any = types.Type
_Model: Any = models.PrimitiveModel


class _Octet(_Type):  # type: ignore[misc]
    """The type of octets in compiled code."""

    def __init__(self) -> None:
        super().__init__(name="Octet")


_OCTET = _Octet()


@register_model(_Octet)
class _OctetModel(_Model):  # type: ignore[misc]
    """An octet is an LLVM vector."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


def _intrinsic(result: Any, count: int, build: Callable[..., Any]) -> Any:
    """Return a function of compiled code whose value is made by `build(builder, ...)` of so many operands."""

    def type_result(*kinds: Any) -> Any:
        return result(*kinds), generate

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pairs = zip(signature.args, arguments, strict=True)
        made = build(builder, *(_as_operand(context, builder, kind, value) for kind, value in pairs))
        return context.get_dummy_value() if result is types.void else made

    by_count = (
        lambda context, one: type_result(one),
        lambda context, one, other: type_result(one, other),
        lambda context, one, other, third: type_result(one, other, third),
    )  # numba takes no *arguments here
    return intrinsic(by_count[count - 1])


def _as_operand(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Return a number as an octet, an array as the address of its first octet, and an octet as it is."""
    if isinstance(kind, types.Array):
        data = context.make_array(kind)(context, builder, value).data
        return builder.bitcast(data, _VECTOR.as_pointer())
    return value if kind == _OCTET else _repeat_number(builder, value)


def _repeat_number(builder: Any, value: Any) -> Any:
    index = ir.IntType(32)
    nothing = ir.Constant(_VECTOR, ir.Undefined)
    one = builder.insert_element(nothing, value, ir.Constant(index, 0))
    return builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(index, WIDTH), [0] * WIDTH))


def _build_load(builder: Any, address: Any) -> Any:
    read = builder.load(address)
    # octets lie at any float64: an aligned load would fault at most of them
    read.align = _NUMBER_BYTES
    return read


def _build_store(builder: Any, address: Any, octet: Any) -> None:
    builder.store(octet, address).align = _NUMBER_BYTES


def _build_quotient(builder: Any, octet: Any, divisor: Any, otherwise: Any) -> Any:
    positive = builder.fcmp_ordered(">", divisor, ir.Constant(_VECTOR, [0.0] * WIDTH))
    return builder.select(positive, builder.fdiv(octet, divisor), otherwise)


def _build_distance(builder: Any, one: Any, other: Any) -> Any:
    # the larger less the smaller; with NaN neither is less, and the other difference is NaN as well
    less = builder.fcmp_ordered("<", one, other)
    return builder.select(less, builder.fsub(other, one), builder.fsub(one, other))


def _build_larger(builder: Any, one: Any, other: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", one, other), one, other)


_load = _intrinsic(_OCTET, 1, _build_load)
_store = _intrinsic(types.void, 2, _build_store)
_repeat = _intrinsic(_OCTET, 1, lambda builder, one: one)
_quotient = _intrinsic(_OCTET, 3, _build_quotient)
_distance = _intrinsic(_OCTET, 2, _build_distance)
_larger = _intrinsic(_OCTET, 2, _build_larger)
_sum = _intrinsic(_OCTET, 2, lambda builder, one, other: builder.fadd(one, other))
_difference = _intrinsic(_OCTET, 2, lambda builder, one, other: builder.fsub(one, other))
_product = _intrinsic(_OCTET, 2, lambda builder, one, other: builder.fmul(one, other))


def _among_octets(apply: Any) -> Any:
    """Return what numba asks about an operator of two octets, or of an octet and a number."""

    def are_octets(one: Any, other: Any) -> bool:
        return _OCTET in (one, other) and {one, other} <= {_OCTET, types.float64}

    return lambda one, other: (lambda one, other: apply(one, other)) if are_octets(one, other) else None


@cache
def overload_all() -> None:
    """Give the functions and operators of octets their compiled forms."""
    # numba asks these for an implementation; it demands parameters named alike, without annotations
    overload(load)(lambda one: lambda one: _load(one))
    overload(store)(lambda one, other: lambda one, other: _store(one, other))
    overload(eight)(lambda one: lambda one: _repeat(one))
    overload(quotient)(lambda one, other, third: lambda one, other, third: _quotient(one, other, third))
    overload(distance)(lambda one, other: lambda one, other: _distance(one, other))
    overload(larger)(lambda one, other: lambda one, other: _larger(one, other))
    overload(operator.add)(_among_octets(_sum))
    overload(operator.sub)(_among_octets(_difference))
    overload(operator.mul)(_among_octets(_product))
