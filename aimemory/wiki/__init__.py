"""The markdown tree: portable names, atomic files, front matter, the walk over the tree, and its git repository.

Knows nothing of journal, index or projects; `store` combines them.
"""
