"""Finding again: any text to a safe query, candidates from the index, one ranked answer that explains itself."""
