"""The pages of researchers: their requests, their labs, and invitations."""
