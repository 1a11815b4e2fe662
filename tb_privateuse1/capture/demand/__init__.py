"""Record steps of a running job when somebody asks, or when one of its steps is slow.

``service`` has the object that programs make, ``files`` the files in the logdir, ``window`` one
recording, ``ring`` those that are kept when something happens.
"""
