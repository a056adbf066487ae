"""What volunteers and labs see of the work units."""
