"""The catalogue's page: every operator as it is declared, found by words, quick."""

from __future__ import annotations

import html
import re
import statistics
import time
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.utils import translation

from accounts import services as accounts
from gpugoblin_site.pages import operators
from gpugoblin_site.pages.families import FAMILIES, KINDS
from opgraph.catalogue import OPERATORS
from opgraph.catalogue.description import describe
from opgraph.errors import GraphError
from opgraph.tensors import TensorType
from research_access import services
from research_access.models import Kind, ProposalState
from research_access.services import Answer

pytestmark = pytest.mark.django_db
LANGUAGES = [code for code, _ in settings.LANGUAGES]
MEDIAN_S = 0.050


def page(client: Client, query: str = "", language: str = "en", *, moving: bool = False) -> str:
    headers = {"Accept-Language": language} | ({"HX-Request": "true"} if moving else {})
    answer = client.get("/catalogue/", {"q": query} if query else {}, headers=headers)
    assert answer.status_code == 200
    return answer.content.decode()


def named(told: str) -> list[str]:
    """The operators on a page, in their order."""
    return re.findall(r'<h3 id="(\w+)" lang="en"', told)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_operator_as_it_is_declared(client: Client, language: str) -> None:
    # Names in ticks are shown as code.
    told = re.sub(r"<code>(.*?)</code>", r"`\1`", page(client, language=language))
    told = html.unescape(told)
    articles = dict(
        re.findall(r'<article class="operator">\s*<h3 id="(\w+)"(.*?)</article>', told, re.S)
    )
    assert set(articles) == set(OPERATORS)
    for operator in OPERATORS.values():
        facts: dict[str, Any] = describe(operator)
        article = articles[operator.name]
        for name in ("signature", "summary", "special_values", "flops", "error"):
            assert facts[name] in article, (operator.name, name)
        assert "; ".join(facts["dtypes"]) in article
        for name, text in facts["attributes"].items():
            assert f'<code translate="no">{name}</code>: {text}' in article


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_anchor_is_there_twice(client: Client, language: str) -> None:
    anchors = re.findall(r'\bid="([^"]+)"', page(client, language=language))
    assert len(anchors) == len(set(anchors))
    assert set(OPERATORS) <= set(anchors)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_family_has_a_name_in_both_languages(language: str) -> None:
    families = {each.family for each in OPERATORS.values()}
    assert families <= set(FAMILIES)
    with translation.override(language):
        names = [str(name) for name in FAMILIES.values()]
    assert len(set(names)) == len(names)


def test_the_reference_is_marked_as_english_where_it_is_foreign(client: Client) -> None:
    told = page(client, language="vi")
    assert '<dt>Giá trị đặc biệt</dt><dd lang="en">' in told
    assert "chỉ viết một lần" in told
    assert "is English in every language" not in page(client)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("matmul", "matmul"),
        ("layer_norm", "layer_norm"),
        ("NORM", "random_normal"),
        ("bitwise xor", "bitwise_xor"),
    ],
)
def test_a_search_by_name(client: Client, query: str, first: str) -> None:
    found = named(page(client, query))
    assert found[0] == first
    assert len(found) < len(OPERATORS) / 4


def test_a_search_by_family_type_and_words(client: Client) -> None:
    families = {OPERATORS[name].family for name in named(page(client, "sap xep", "vi"))}
    assert "sorting" in families
    for name in named(page(client, "bfloat16")):
        rows = OPERATORS[name].dtypes.items()
        assert any("bfloat16" in side for row in rows for side in row) or "bfloat16" in str(
            describe(OPERATORS[name])
        )
    assert "matmul" in named(page(client, "matrix product"))


def test_a_search_for_kinds(client: Client) -> None:
    told = page(client, "huấn luyện", "vi")
    assert "Huấn luyện mô hình" in told
    assert not named(told)


def test_nothing_found_leads_to_the_form(client: Client) -> None:
    told = page(client, "quaternion")
    assert not named(told)
    assert 'href="/proposals/"' in told


@pytest.mark.parametrize(
    "query",
    [
        "<script>alert(1)</script>",
        "\x00",
        "a" * 10_000,
        "%",
        "' OR 1=1",
        "\ud7ff\u202e",
        "x " * 500,
    ],
)
def test_hostile_searches(client: Client, query: str) -> None:
    assert "<script>alert" not in page(client, query)


def test_a_moving_page_gets_what_was_found_only(client: Client) -> None:
    part = page(client, "matmul", moving=True)
    assert "<html" not in part
    assert named(part)[0] == "matmul"
    assert 'hx-swap-oob="innerHTML"' in part
    assert "HX-Request" in client.get("/catalogue/")["Vary"]


def test_the_kinds_are_those_of_a_request_and_one_is_available() -> None:
    assert [kind.code for kind in KINDS] == Kind.values
    assert [kind.code for kind in KINDS if kind.is_available] == [Kind.PRODUCTS]


def test_what_is_planned_names_nobody(client: Client) -> None:
    person = accounts.create_account("ada@example.org", name="Ada Lovelace")
    reviewer = accounts.make_operator(
        "reviewer@example.org",
    )
    row = services.propose(person, what="Bernoulli numbers of Ada", purpose="My engine.")
    assert "Nothing so far." in page(client)
    answer = Answer(ProposalState.PLANNED, "Yes.", "Sparse products", "Tích ma trận thưa")
    services.answer_proposal(row, reviewer, answer)
    assert "Sparse products" in page(client)
    told = page(client, language="vi")
    assert "Tích ma trận thưa" in told
    for trace in ("Ada", "ada@", "Bernoulli numbers of", "engine"):
        assert trace not in told
    assert "Sparse products" in page(client, "sparse")
    services.answer_proposal(row, reviewer, Answer(ProposalState.BUILT, "Done.", "S", "T"))
    assert "Sparse products" not in page(client)


@pytest.mark.alone
def test_it_is_quick(client: Client, django_assert_max_num_queries: Any) -> None:
    for query in ("", "norm"):
        page(client, query)
        with django_assert_max_num_queries(2):
            page(client, query)
        took = []
        for _ in range(9):
            started = time.perf_counter()
            page(client, query)
            took.append(time.perf_counter() - started)
        assert statistics.median(took) < MEDIAN_S


@pytest.mark.parametrize("name", ["add", "matmul", "equal", "where"])
def test_nothing_is_converted_silently(name: str) -> None:
    operator = OPERATORS[name]
    same = [TensorType("float32", (4, 4))] * 2
    if name == "where":
        same = [TensorType("bool", (4, 4)), *same]
    assert operator.infer(same, {})
    for other in (TensorType("float64", (4, 4)), TensorType("float32", (1, 4))):
        with pytest.raises(GraphError):
            operator.infer([*same[:-1], other], {})
    assert {"astype", "broadcast_to"} <= set(OPERATORS)


def test_words_are_few() -> None:
    assert len(operators.words_of("a " * 99)) == operators.MOST_WORDS
