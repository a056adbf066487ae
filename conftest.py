"""What every test run needs before the first test is collected."""

# Collected first, so that a folder of the checkout with the name of a package inside it
# (opgraph/src/opgraph) can never be taken for the package.
import opgraph  # noqa: F401
