"""Random aggregates, and expressions over them, of which DuckDB gives one answer."""

from __future__ import annotations

import random
from collections.abc import Sequence

from everyday_expressions import Expressions


class Aggregates:
    """Aggregates over some expressions; `order` is all columns, which order rows in full."""

    def __init__(self, rng: random.Random, over: Expressions, order: Sequence[str]) -> None:
        self.rng = rng
        self.over = over
        self.order = ", ".join(order)

    def _of(self, *texts: str) -> str:
        return self.rng.choice(texts)

    def _filtered(self, call: str) -> str:
        if self.rng.random() < 0.2:
            return f"{call} FILTER (WHERE {self.over.of('truth', 1)})"
        return call

    def number(self) -> str:
        """An aggregate that is a number."""
        e = self.over
        distinct = self._of("", "", "", "DISTINCT ")
        if e.functions and self.rng.random() < 1 / 6:
            return e.call("aggregate", e.functions["aggregate"], 2)
        call = self._of(
            "COUNT(*)",
            f"COUNT({distinct}{e.any()})",
            f"SUM({distinct}{e.number()})",
            f"SUM({e.number(2)})",
            f"AVG({distinct}{e.number()})",
            f"MIN({e.number()})",
            f"MAX({distinct}{e.number()})",
            f"SUM(CASE WHEN {e.of('truth', 1)} THEN 1 ELSE 0 END)",
            f"count_if({e.of('truth', 1)})",
            # Rounded, as ORDER BY must not depend on their last digits.
            f"ROUND(STDDEV({distinct}{e.of('integer', 1)}), 6)",
            f"ROUND(VAR_POP({e.of('integer', 1)}), 6)",
        )
        has_filter = not call.startswith(("count_if", "ROUND"))
        return self._filtered(call) if has_filter else call

    def value(self) -> str:
        """An aggregate, or an expression over some."""
        e = self.over
        if self.rng.random() < 0.2:
            return self.of_ordered()
        return self._of(
            self.number(),
            self.number(),
            self._filtered(f"{self._of('MIN', 'MAX')}({e.any()})"),
            self._filtered(f"{self._of('bool_or', 'bool_and')}({e.of('truth', 1)})"),
            f"{self.number()} + {self.number()}",
            f"ROUND({self.number()} / COUNT(*), 2)",
            f"COALESCE({self.number()}, 0) * 100.0 / NULLIF(COUNT(*), 0)",
            f"CASE WHEN {self.truth()} THEN {self.number()} ELSE 0 END",
            f"GREATEST({self.number()}, 1)",
            f"CAST({self.number()} AS VARCHAR) IS NULL",
        )

    def truth(self) -> str:
        """A condition on groups."""
        return self._of(
            "COUNT(*) > 1",
            f"{self.number()} > 0",
            f"(MAX({self.over.of('integer', 1)}) > 0 OR COUNT(*) = 1)",
            f"{self.number()} IS NOT NULL",
            f"NOT ({self.number()} <= {self.number()})",
        )

    def of_ordered(self) -> str:
        """An aggregate that needs all rows of its group."""
        e = self.over
        text, integer = e.of("text", 1), e.of("integer", 1)
        any_ = e.any(1)
        direction = self._of("", " DESC", " DESC NULLS LAST", " NULLS FIRST")
        distinct = self._of("", "", "DISTINCT ")
        call = self._of(
            f"MEDIAN({distinct}{e.number()})",
            f"QUANTILE_CONT({distinct}{e.of('integer', 1)}, {self._of('0.25', '0.5', '0.9')})",
            f"QUANTILE_CONT({e.of('double', 1)}, 0.75)",
            f"QUANTILE_DISC({distinct}{any_}, {self._of('0.25', '0.5', '1')})",
            f"PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY {e.of('integer', 1)})",
            f"PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY {e.of('integer', 1)} DESC)",
            f"MODE(CASE WHEN {e.of('truth', 1)} THEN 1 END)",
            f"ANY_VALUE({any_} ORDER BY {self.order})",
            f"FIRST({any_} ORDER BY {any_}{direction}, {self.order})",
            f"LAST({any_} ORDER BY {self.order})",
            f"ARG_MIN({integer}, {integer})",
            f"ARG_MAX({text}, {text})",
            f"MAX_BY({text}, {text})",
            f"STRING_AGG({text}, ', ' ORDER BY {text}{direction})",
            f"STRING_AGG(DISTINCT {text}, '|' ORDER BY {text}{direction})",
            f"LISTAGG({integer}::VARCHAR, ';' ORDER BY {integer}{direction})",
            f"ARRAY_AGG({any_} ORDER BY {any_}{direction}, {self.order})",
            f"LIST({integer} ORDER BY {integer}{direction})",
            f"LIST(DISTINCT {text} ORDER BY {text}{direction})",
            f"HISTOGRAM({any_})",
            f"len(ARRAY_AGG({any_}))",
            f"BOOL_AND({distinct}{e.of('truth', 1)})",
            f"BIT_AND({integer})",
            f"BIT_OR({distinct}{integer})",
            f"BIT_XOR({distinct}{integer})",
            f"PRODUCT({distinct}{e.column('integer')})",
            f"STDDEV_POP({distinct}{integer})",
            f"COVAR_SAMP({integer}, {e.number()})",
            f"APPROX_COUNT_DISTINCT({integer})",
            f"ROUND({self._of('KURTOSIS', 'KURTOSIS_POP', 'SKEWNESS', 'SEM')}({integer}), 5)",
            f"ROUND(GEOMEAN(abs({e.column('integer')}) + 1), 5)",
            f"ROUND(ENTROPY({any_}), 5)",
            f"MAD({distinct}{e.of('integer', 1)})",
            f"ROUND(WEIGHTED_AVG({e.column('integer')}, 1 + abs({e.column('integer')})), 5)",
            f"{self._of('MIN', 'MAX')}({distinct}{any_}, {self._of('1', '2', '5')})",
            f"{self._of('ARG_MIN', 'ARG_MAX')}({text}, {text}, 2)",
            f"QUANTILE_CONT({e.of('integer', 1)}, [0.25, 0.5])",
            f"QUANTILE_DISC({any_}, [0.1, 0.9])",
        )
        return self._filtered(call)
