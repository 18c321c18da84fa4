"""The SQLite cache: derived from pages and journal lines, safe to delete, rebuilt when damaged or of another schema."""
