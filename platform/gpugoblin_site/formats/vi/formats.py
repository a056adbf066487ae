"""Groups of three digits, which Django leaves out for Vietnamese."""

NUMBER_GROUPING = 3
DATETIME_FORMAT = r"H:i, j \t\h\á\n\g n \n\ă\m Y"
DATE_FORMAT = r"j \t\h\á\n\g n \n\ă\m Y"
SHORT_DATE_FORMAT = "d/m/Y"
SHORT_DATETIME_FORMAT = "H:i d/m/Y"
