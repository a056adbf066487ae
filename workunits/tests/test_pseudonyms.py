"""What labs call a volunteer."""

import uuid

from workunits.pseudonyms import LENGTH, pseudonym


def test_each_lab_knows_a_volunteer_by_a_pseudonym_of_its_own() -> None:
    lab, other_lab, account, other = (uuid.uuid4() for _ in range(4))
    name = pseudonym(lab, account)
    assert name == pseudonym(lab, account)
    assert len({name, pseudonym(other_lab, account), pseudonym(lab, other)}) == 3
    assert len(name) == LENGTH
    assert account.hex not in name
