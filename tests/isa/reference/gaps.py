def check(e, p): return False
