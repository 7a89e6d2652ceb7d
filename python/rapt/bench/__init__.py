"""python -m rapt.bench: Rapt and every rival that is installed, in one run, alternating."""
