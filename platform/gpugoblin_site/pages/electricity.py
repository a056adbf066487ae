"""What lending a machine costs in electricity: the volunteer's own figures, multiplied."""

from __future__ import annotations

from typing import NamedTuple

from django import forms
from django.utils.translation import gettext_lazy as _

DAYS = 30
WATTS_PER_KILOWATT = 1000


class Bill(NamedTuple):
    """For 30 days; `price` is in the currency of the price that was given, if one was."""

    kilowatt_hours: float
    price: float | None


class ElectricityForm(forms.Form):
    """Three figures that everybody can find out at home."""

    watts = forms.FloatField(
        label=_("Watts more while it computes"),
        help_text=_("Read a plug-in power meter with the client stopped and running."),
        min_value=1,
        max_value=10_000,
    )
    hours = forms.FloatField(label=_("Hours a day"), min_value=0.1, max_value=24)
    price = forms.FloatField(
        label=_("Price of a kilowatt-hour"),
        help_text=_("From your bill, in your currency."),
        min_value=0,
        max_value=1_000_000,
        required=False,
    )

    def bill(self) -> Bill:
        """The product of the figures of a valid form."""
        given = self.cleaned_data
        energy = given["watts"] * given["hours"] * DAYS / WATTS_PER_KILOWATT
        return Bill(energy, None if given["price"] is None else energy * given["price"])
