"""What people see: text, tables, figures, reports, the command line and the page."""
