"""What can be known without a model, each fact with its evidence."""
