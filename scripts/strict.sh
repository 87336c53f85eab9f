# For campaigns, which source it: what users get as a fallback is a failure here.
# shellcheck shell=bash
export WAVEJIT_STRICT=1            # code that cannot be translated is not interpreted instead
export WAVEJIT_CHECK_ALLOCATION=1  # the checker of register allocation looks at all translations
