"""The computing process of one device, and its handle in the supervisor."""
