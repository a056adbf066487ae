"""What can go wrong with a network."""


class NetworkError(RuntimeError):
    """A part of the network did not start or died; the message has the end of its log."""
