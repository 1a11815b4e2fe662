"""Functions of the program: their names, those that are the user's, and the lines of calls.

``function_names`` turns a Python frame into a function's name, and ``library_frames`` tells the
frames of libraries from the user's. ``user_functions`` finds the function that operators, calls or
times belong to, and ``call_lines`` the line in it at which the call stands, where that is known.
"""

__all__ = ["call_lines", "function_names", "library_frames", "user_functions"]
