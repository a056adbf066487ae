"""The client's scheduler: state + event -> state + actions, without clock, socket or disk."""
