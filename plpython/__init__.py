"""What runs inside the database: chunkers and token counts, standard library only."""
