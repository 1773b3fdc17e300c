"""What the exercises of the lessons are held against: a module a lesson."""
