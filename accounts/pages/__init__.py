"""The pages of log-in, of the account and of programs that sign in."""
