# group: crash; expect: fail
# Tries to crash whoever decodes this source: lone and overlong bytes, coded surrogates, a UTF-16 tail, odd line ends.
NOTE = 'ÿş€ À¯ í €í°€ õ€€'  # â€

def add(a, b):
    return a  #  â€¨ ï»¿ 
# ÿş@b	gKmÕ‹
