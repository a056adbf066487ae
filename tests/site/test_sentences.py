"""Problems in the reader's language."""

from django.utils import translation

from goblin_wire.problems import PROBLEMS, UnknownJob
from gpugoblin_site import sentences


def test_every_code_has_the_sentence_of_its_class() -> None:
    assert set(sentences.SENTENCES) == set(PROBLEMS)
    with translation.override("en"):
        for code, kind in PROBLEMS.items():
            assert str(sentences.SENTENCES[code]) == " ".join((kind.__doc__ or "").split())


def test_every_code_is_translated() -> None:
    with translation.override("vi"):
        same = [code for code, kind in PROBLEMS.items() if sentences.of_code(code) == kind().detail]
    assert not same


def test_english_keeps_the_details() -> None:
    problem = UnknownJob("There is no job 17.")
    with translation.override("en"):
        assert sentences.sentence(problem) == "There is no job 17."
    with translation.override("vi"):
        assert sentences.sentence(problem) == "Không có công việc tính toán này."


def test_an_unknown_code_is_named() -> None:
    with translation.override("vi"):
        assert "brand_new" in sentences.of_code("brand_new")
