"""What a program is made of."""
