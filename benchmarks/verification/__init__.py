"""`make bench-verification`: what the check of products costs, accuses and misses."""
