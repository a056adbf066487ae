"""kill -9 of everything, at random moments: the product must be right, and nothing done twice."""
