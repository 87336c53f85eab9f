# Install rules live beside what they install; this file is the place for the package files.
